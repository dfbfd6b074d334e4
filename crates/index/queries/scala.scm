(package_object name: (_) @name) @module
(object_definition name: (_) @name) @class
(class_definition name: (_) @name) @class
(trait_definition name: (_) @name) @interface
(enum_definition name: (_) @name) @enum
(type_definition name: (_) @name) @type
(given_definition name: (_) @name) @variable
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(template_body (val_definition pattern: (identifier) @name) @property)
(template_body (var_definition pattern: (identifier) @name) @property)
(compilation_unit (val_definition pattern: (identifier) @name) @variable)
