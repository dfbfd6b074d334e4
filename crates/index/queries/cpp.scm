(namespace_definition name: (_) @name) @module
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(concept_definition name: (identifier) @name) @interface
(alias_declaration name: (type_identifier) @name) @type
(type_definition declarator: (type_identifier) @name) @type
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (operator_cast) @name) @function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @method
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @method
(field_declaration declarator: (reference_declarator (function_declarator declarator: (field_identifier) @name))) @method
(field_declaration_list (declaration declarator: (function_declarator declarator: (_) @name)) @method)
(translation_unit (declaration declarator: (function_declarator declarator: (_) @name)) @function)
(declaration_list (declaration declarator: (function_declarator declarator: (_) @name)) @function)
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
