(module_definition (module_binding (module_name) @name)) @module
(module_type_definition (module_type_name) @name) @interface
(class_definition (class_binding (class_name) @name)) @class
(class_type_definition (class_type_binding (class_type_name) @name)) @interface
(type_definition (type_binding name: (_) @name)) @type
(exception_definition (constructor_declaration (constructor_name) @name)) @type
(method_definition (method_name) @name) @method
(external (value_name) @name) @function
(value_specification (value_name) @name) @function
(compilation_unit (value_definition (let_binding pattern: (value_name) @name)) @function)
(structure (value_definition (let_binding pattern: (value_name) @name)) @function)
