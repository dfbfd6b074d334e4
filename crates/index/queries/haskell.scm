(header module: (module) @name) @module
(data_type name: (_) @name) @type
(newtype name: (_) @name) @type
(type_synonym name: (_) @name) @type
(class name: (_) @name) @interface
(instance name: (_) @name) @impl
(signature name: (variable) @name) @function
(declarations (function name: (variable) @name) @function)
(declarations (bind name: (variable) @name) @function)
