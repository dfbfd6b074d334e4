(class_declaration declaration_kind: "extension" name: (_) @name) @impl
(class_declaration declaration_kind: "struct" name: (_) @name) @struct
(class_declaration declaration_kind: "enum" name: (_) @name) @enum
(class_declaration name: (_) @name) @class
(protocol_declaration name: (type_identifier) @name) @interface
(typealias_declaration name: (_) @name) @type
(associatedtype_declaration name: (_) @name) @type
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(init_declaration name: _ @name) @method
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(class_body (property_declaration name: (pattern (simple_identifier) @name)) @property)
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @variable)
(protocol_property_declaration name: (pattern (simple_identifier) @name)) @property
