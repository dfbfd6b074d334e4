(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(type_alias_statement left: (type) @name) @type
(module (expression_statement (assignment left: (identifier) @name) @variable))
