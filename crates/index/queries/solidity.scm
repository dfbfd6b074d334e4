(contract_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(library_declaration name: (identifier) @name) @module
(struct_declaration name: (identifier) @name) @struct
(enum_declaration name: (identifier) @name) @enum
(event_definition name: (identifier) @name) @type
(error_declaration name: (identifier) @name) @type
(user_defined_type_definition name: (identifier) @name) @type
(function_definition name: (identifier) @name) @function
(modifier_definition name: (identifier) @name) @function
(constructor_definition "constructor" @name) @method
(fallback_receive_definition ["fallback" "receive"] @name) @method
(state_variable_declaration name: (identifier) @name) @property
(constant_variable_declaration name: (identifier) @name) @constant
