(class_declaration name: (identifier) @name) @class
(class_declaration (mixin_application_class . (identifier) @name)) @class
(mixin_declaration name: (identifier) @name) @class
(extension_declaration name: (identifier) @name) @class
(extension_type_declaration name: (_) @name) @class
(enum_declaration name: (identifier) @name) @enum
(type_alias (type_identifier) @name) @type
(function_declaration signature: (function_signature name: (identifier) @name)) @function
(getter_declaration signature: (getter_signature name: (identifier) @name)) @function
(setter_declaration signature: (setter_signature name: (identifier) @name)) @function
(method_declaration signature: (method_signature (function_signature name: (identifier) @name))) @method
(method_declaration signature: (method_signature (getter_signature name: (identifier) @name))) @method
(method_declaration signature: (method_signature (setter_signature name: (identifier) @name))) @method
(method_declaration signature: (method_signature (constructor_signature name: (identifier) @name))) @method
(method_declaration signature: (method_signature (factory_constructor_signature name: (identifier) @name))) @method
(member_declaration (declaration (constructor_signature name: (identifier) @name))) @method
(member_declaration (declaration (constant_constructor_signature name: (identifier) @name))) @method
(member_declaration (declaration (function_signature name: (identifier) @name))) @method
