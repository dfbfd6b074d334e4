//! All actions with their names, contexts, keys and descriptions.

/// Where a binding applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyContext {
    /// Everywhere, unless the current context binds the key.
    Everywhere,
    /// The prompt editor.
    Composer,
    /// The completion list.
    Completion,
    /// The transcript.
    Conversation,
    /// The approval prompt.
    Approval,
    /// Lists in views.
    List,
    /// The changes view.
    Changes,
}

impl KeyContext {
    /// All contexts in the order of the help view.
    pub const ALL: [KeyContext; 7] = [
        KeyContext::Everywhere,
        KeyContext::Composer,
        KeyContext::Completion,
        KeyContext::Conversation,
        KeyContext::Approval,
        KeyContext::List,
        KeyContext::Changes,
    ];

    /// The heading in help.
    pub fn title(self) -> &'static str {
        match self {
            KeyContext::Everywhere => "Global",
            KeyContext::Composer => "Prompt input",
            KeyContext::Completion => "Completion list",
            KeyContext::Conversation => "Conversation",
            KeyContext::Approval => "Approvals",
            KeyContext::List => "Lists",
            KeyContext::Changes => "Changes",
        }
    }
}

/// A row of the key map.
#[derive(Debug, Clone, Copy)]
pub struct KeyBinding {
    /// The action.
    pub action: KeyAction,
    /// The name in the configuration.
    pub name: &'static str,
    /// The context.
    pub context: KeyContext,
    /// The keys, the primary one first.
    pub keys: &'static [&'static str],
    /// A short description.
    pub description: &'static str,
}

impl KeyBinding {
    /// The binding with this name.
    pub fn by_name(name: &str) -> Option<&'static KeyBinding> {
        BINDINGS.iter().find(|binding| binding.name == name)
    }
}

macro_rules! bindings {
    ($($context:ident { $($action:ident $name:literal [$($key:literal),*] $description:literal;)* })*) => {
        /// An action that a key can be bound to.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum KeyAction {
            $($(
                #[doc = $description]
                $action,
            )*)*
        }

        impl KeyAction {
            /// The row in the key map.
            pub fn binding(self) -> &'static KeyBinding {
                &BINDINGS[self as usize]
            }
        }

        /// All actions.
        pub(crate) const BINDINGS: &[KeyBinding] = &[$($(
            KeyBinding {
                action: KeyAction::$action,
                name: $name,
                context: KeyContext::$context,
                keys: &[$($key),*],
                description: $description,
            },
        )*)*];
    };
}

bindings! {
    Everywhere {
        Interrupt "interrupt" ["esc"] "Close the view or interrupt the turn; twice: clear the input, or rewind to an earlier prompt";
        Cancel "cancel" ["ctrl+c"] "Interrupt the turn, or clear the input; twice: quit";
        Leave "leave" ["ctrl+d"] "Quit; twice while a turn is running";
        Suspend "suspend" ["ctrl+z"] "Suspend; `fg` resumes";
        Background "background" ["ctrl+b"] "Move the running command to the background; otherwise: move one character left";
        Palette "palette" ["ctrl+p"] "Open the command palette";
        Help "help" ["f1"] "Show keys and commands; also `?` on an empty line";
        Redraw "redraw" ["ctrl+l"] "Redraw the screen";
        NextMode "next-mode" ["shift+tab"] "Switch between asking, accepting edits and planning";
        Models "models" ["ctrl+x m"] "Choose a model";
        Modes "modes" ["ctrl+x o"] "Choose a mode";
        Sessions "sessions" ["ctrl+x s"] "Search, resume, fork or rename sessions";
        NewSession "new-session" ["ctrl+x n"] "Start a new session";
        Changes "changes" ["ctrl+x c"] "Review the changes of this session";
        Rewind "rewind" ["ctrl+x r"] "Rewind to an earlier prompt";
        Todo "todo" ["ctrl+x t"] "Show the todo list";
        ContextView "context" ["ctrl+x k"] "Show context usage and cost";
        Jobs "jobs" ["ctrl+x j"] "Show background jobs";
        Subagents "subagents" ["ctrl+x a"] "Show subtasks: watch, steer, stop";
        Servers "servers" ["ctrl+x v"] "Show MCP and language servers";
        Permissions "permissions" ["ctrl+x p"] "Show permission rules";
        Themes "themes" ["ctrl+x h"] "Choose a theme";
        Settings "settings" ["ctrl+x ,"] "Show settings and their sources";
        Setup "setup" [] "Choose a provider, store a key, test the connection";
        ToggleVim "toggle-vim" [] "Turn Vim keys on or off";
        Transcript "transcript" ["ctrl+t"] "Show the full conversation";
        Search "search" ["ctrl+x f"] "Search the conversation";
        Copy "copy" ["ctrl+x y"] "Copy the last reply";
        ToggleThinking "toggle-thinking" ["ctrl+x i"] "Show or hide the model's thinking";
        ToggleDetails "toggle-details" ["ctrl+o"] "Expand or collapse tool output";
    }
    Composer {
        Send "send" ["enter"] "Send; during a turn, the message is delivered at the next step";
        Queue "queue" ["tab"] "Queue: send when the turn ends";
        Newline "newline" ["shift+enter", "alt+enter", "ctrl+j"] "Insert a new line; also `\\` before Enter";
        Left "left" ["left"] "Move one character left";
        Right "right" ["right", "ctrl+f"] "Move one character right";
        Up "up" ["up"] "Move one line up; on the first line: previous or queued prompt";
        Down "down" ["down", "ctrl+n"] "Move one line down; on the last line: next prompt";
        WordLeft "word-left" ["alt+b", "ctrl+left", "alt+left"] "Move one word left";
        WordRight "word-right" ["alt+f", "ctrl+right", "alt+right"] "Move one word right";
        LineStart "line-start" ["ctrl+a", "home"] "Move to the start of the line";
        LineEnd "line-end" ["ctrl+e", "end"] "Move to the end of the line";
        TextStart "text-start" ["ctrl+home", "alt+<"] "Move to the start of the text";
        TextEnd "text-end" ["ctrl+end", "alt+>"] "Move to the end of the text";
        DeleteBack "delete-back" ["backspace", "ctrl+h", "shift+backspace"] "Delete the previous character";
        DeleteForward "delete-forward" ["delete", "ctrl+d"] "Delete the next character; on an empty line: quit";
        DeleteWordBack "delete-word-back" ["ctrl+w", "alt+backspace", "ctrl+backspace"] "Cut the previous word";
        DeleteWordForward "delete-word-forward" ["alt+d", "ctrl+delete", "alt+delete"] "Cut the next word";
        KillLine "kill-line" ["ctrl+k"] "Cut to the end of the line";
        KillLineBack "kill-line-back" ["ctrl+u"] "Cut to the start of the line";
        Yank "yank" ["ctrl+y"] "Paste the last cut";
        YankPop "yank-pop" ["alt+y"] "After that: replace it by the cut before";
        Transpose "transpose" ["alt+t"] "Swap the characters around the cursor";
        Uppercase "uppercase" ["alt+u"] "Convert to upper case up to the end of the word";
        Lowercase "lowercase" ["alt+l"] "Convert to lower case up to the end of the word";
        Capitalise "capitalise" ["alt+c"] "Capitalise the word";
        Undo "undo" ["ctrl+_", "ctrl+/", "ctrl+7"] "Undo typing";
        Redo "redo" ["alt+_", "alt+/", "ctrl+shift+z"] "Redo typing";
        HistorySearch "history-search" ["ctrl+r"] "Search the prompt history";
        Editor "editor" ["ctrl+g", "ctrl+x ctrl+e"] "Edit the prompt in your editor ($VISUAL, $EDITOR)";
        PasteImage "paste-image" ["ctrl+v", "alt+v"] "Attach the image on the clipboard, or paste its text";
        Expand "expand" ["alt+e"] "Expand the pasted text at the cursor";
    }
    Completion {
        CompletionUp "completion-up" ["up", "ctrl+p"] "Select the previous completion";
        CompletionDown "completion-down" ["down", "ctrl+n"] "Select the next completion";
        Accept "accept" ["tab", "enter"] "Accept the completion";
        Dismiss "dismiss" ["esc"] "Close the list";
    }
    Conversation {
        PageUp "page-up" ["pageup"] "Scroll one page up";
        PageDown "page-down" ["pagedown"] "Scroll one page down";
        ScrollUp "scroll-up" ["shift+up", "alt+up"] "Scroll one line up";
        ScrollDown "scroll-down" ["shift+down", "alt+down"] "Scroll one line down";
        Top "top" ["ctrl+pageup", "shift+home"] "Go to the beginning";
        Bottom "bottom" ["ctrl+pagedown", "shift+end"] "Go to the end";
        PreviousTurn "previous-turn" ["alt+pageup"] "Go to the previous prompt";
        NextTurn "next-turn" ["alt+pagedown"] "Go to the next prompt";
    }
    Approval {
        Confirm "confirm" ["enter"] "Give the selected answer; by default: allow once";
        NextAnswer "next-answer" ["right", "down"] "Select the next answer";
        PreviousAnswer "previous-answer" ["left", "up"] "Select the previous answer";
        ApproveOnce "approve-once" ["y"] "Allow once";
        ApproveNetwork "approve-network" ["w"] "Run a blocked command again in the sandbox, with network access";
        ApproveSession "approve-session" ["s"] "Allow for this session";
        ApproveProject "approve-project" ["p"] "Allow in this project: saves a rule";
        ApproveAlways "approve-always" ["a"] "Allow always: saves a rule";
        Reject "reject" ["n"] "Deny; you can type a reason instead";
        Modify "modify" ["e"] "Edit the call before it runs";
        NextRule "next-rule" ["tab"] "Select another rule to save";
        ShowAll "show-all" ["ctrl+o"] "Show all details, or less";
    }
    List {
        ListUp "list-up" ["up", "ctrl+p"] "Select the previous row";
        ListDown "list-down" ["down", "ctrl+n"] "Select the next row";
        ListPageUp "list-page-up" ["pageup"] "Move one page up";
        ListPageDown "list-page-down" ["pagedown"] "Move one page down";
        ListTop "list-top" ["home"] "Select the first row";
        ListBottom "list-bottom" ["end"] "Select the last row";
        Choose "choose" ["enter"] "Choose the selected row";
        Close "close" ["esc"] "Clear the search, or close the view";
        NextPane "next-pane" ["tab"] "Go to the next pane";
        Fork "fork" ["ctrl+f"] "Continue from here in a new session";
        Rename "rename" ["ctrl+r"] "Change the title";
        Scope "scope" ["ctrl+a"] "Show this project or all projects";
        Steer "steer" ["ctrl+s"] "Send a message to this subtask";
        Stop "stop" ["ctrl+k"] "Stop the selected job or subtask";
        Revoke "revoke" ["ctrl+d", "delete"] "Remove this rule";
        LessEffort "less-effort" ["left"] "Lower the reasoning effort, in the list of models";
        MoreEffort "more-effort" ["right"] "Raise the reasoning effort, in the list of models";
    }
    Changes {
        AcceptHunk "accept-hunk" ["a"] "Accept this hunk";
        RejectHunk "reject-hunk" ["r"] "Revert this hunk";
        AcceptFile "accept-file" ["A"] "Accept all of this file";
        RejectFile "reject-file" ["R"] "Revert all of this file";
        AcceptAll "accept-all" ["ctrl+a"] "Accept all changes";
        NextHunk "next-hunk" ["n", "down", "j"] "Go to the next hunk";
        PreviousHunk "previous-hunk" ["p", "up", "k"] "Go to the previous hunk";
        NextFile "next-file" ["tab", "right", "l"] "Go to the next file";
        PreviousFile "previous-file" ["shift+tab", "left", "h"] "Go to the previous file";
        UndoTurn "undo-turn" ["u"] "Undo the last turn's file changes, after confirmation";
        RedoTurn "redo-turn" ["ctrl+r"] "Redo the undone file changes";
    }
}
