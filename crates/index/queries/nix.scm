(binding attrpath: (attrpath) @name expression: (function_expression)) @function
(binding attrpath: (attrpath) @name) @key
