(block . (identifier) @name) @block
(config_file (body (attribute . (identifier) @name) @key))
