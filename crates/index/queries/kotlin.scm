(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @enum
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(companion_object "companion" @name) @class
(type_alias type: (identifier) @name) @type
(function_declaration name: (identifier) @name) @function
(secondary_constructor "constructor" @name) @method
(source_file (property_declaration (variable_declaration . (identifier) @name)) @variable)
(class_body (property_declaration (variable_declaration . (identifier) @name)) @property)
