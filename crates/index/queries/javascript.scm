(class_declaration name: (identifier) @name) @class
(class name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(pair key: (_) @name value: [(arrow_function) (function_expression)]) @method
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
(assignment_expression left: (member_expression property: (_) @name) right: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @variable)))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
