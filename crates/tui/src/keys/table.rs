//! Every action: its name, its place, its keys and what it does. The only list of them.

/// Where keys have a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Anywhere, unless the place has a meaning of its own for the key.
    Everywhere,
    /// Where a prompt is written.
    Composer,
    /// While the completion list is open.
    Completion,
    /// Looking back through the conversation.
    Conversation,
    /// A question that waits for an answer.
    Approval,
    /// A list in a view.
    List,
    /// The view of changes.
    Changes,
}

impl Context {
    /// All places, in the order in which help shows them.
    pub const ALL: [Context; 7] = [
        Context::Everywhere,
        Context::Composer,
        Context::Completion,
        Context::Conversation,
        Context::Approval,
        Context::List,
        Context::Changes,
    ];

    /// Its heading in help.
    pub fn title(self) -> &'static str {
        match self {
            Context::Everywhere => "Everywhere",
            Context::Composer => "Writing",
            Context::Completion => "Completion list",
            Context::Conversation => "Conversation",
            Context::Approval => "Questions",
            Context::List => "Lists",
            Context::Changes => "Changes",
        }
    }
}

/// A row of the key map.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// What is done.
    pub deed: Deed,
    /// Its name in the configuration.
    pub name: &'static str,
    /// Where.
    pub context: Context,
    /// With which keys, the usual one first.
    pub keys: &'static [&'static str],
    /// What it does, in a few words.
    pub says: &'static str,
}

impl Binding {
    /// The row of this name.
    pub fn named(name: &str) -> Option<&'static Binding> {
        BINDINGS.iter().find(|binding| binding.name == name)
    }
}

macro_rules! bindings {
    ($($context:ident { $($deed:ident $name:literal [$($key:literal),*] $says:literal;)* })*) => {
        /// Something that a key does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Deed {
            $($(
                #[doc = $says]
                $deed,
            )*)*
        }

        impl Deed {
            /// Its row in the key map.
            pub fn binding(self) -> &'static Binding {
                &BINDINGS[self as usize]
            }
        }

        /// Every action.
        pub(crate) const BINDINGS: &[Binding] = &[$($(
            Binding {
                deed: Deed::$deed,
                name: $name,
                context: Context::$context,
                keys: &[$($key),*],
                says: $says,
            },
        )*)*];
    };
}

bindings! {
    Everywhere {
        Interrupt "interrupt" ["esc"] "Close what is open; stop the turn; twice: go back to an earlier prompt";
        Cancel "cancel" ["ctrl+c"] "Stop the turn; else clear the line; else, twice: leave";
        Leave "leave" ["ctrl+d"] "Leave; twice while a turn runs";
        Suspend "suspend" ["ctrl+z"] "Back to the shell; `fg` returns";
        Palette "palette" ["ctrl+p"] "Everything that can be done";
        Help "help" ["f1"] "Keys and commands; so does `?` on an empty line";
        Redraw "redraw" ["ctrl+l"] "Draw the screen anew";
        NextMode "next-mode" ["shift+tab"] "Go on in the next mode";
        Models "models" ["ctrl+x m"] "Choose a model";
        Modes "modes" ["ctrl+x o"] "Choose a mode";
        Sessions "sessions" ["ctrl+x s"] "Sessions: search, resume, fork, rename";
        NewSession "new-session" ["ctrl+x n"] "Begin a new session";
        Changes "changes" ["ctrl+x c"] "What this session changed, to accept or take back";
        Rewind "rewind" ["ctrl+x r"] "Go back to an earlier prompt";
        Todo "todo" ["ctrl+x t"] "The list of things to do";
        ContextView "context" ["ctrl+x k"] "What the context is made of, and what it costs";
        Jobs "jobs" ["ctrl+x j"] "Commands in the background";
        Subagents "subagents" ["ctrl+x a"] "Subtasks: watch, steer, stop";
        Servers "servers" ["ctrl+x v"] "MCP and language servers";
        Permissions "permissions" ["ctrl+x p"] "What is allowed";
        Themes "themes" ["ctrl+x h"] "Choose a theme";
        Settings "settings" ["ctrl+x ,"] "Settings, and where each comes from";
        Setup "setup" [] "Choose a provider, store a key, test the connection";
        ToggleVim "toggle-vim" [] "Vim's keys on or off";
        Transcript "transcript" ["ctrl+t"] "Look back through the whole conversation";
        Search "search" ["ctrl+x f"] "Search the conversation";
        Copy "copy" ["ctrl+x y"] "Copy the last reply";
        ToggleThinking "toggle-thinking" ["ctrl+x i"] "Show or fold the model's thinking";
        ToggleDetails "toggle-details" ["ctrl+o"] "Unfold or fold what tools printed";
    }
    Composer {
        Send "send" ["enter"] "Send; while a turn runs, it joins at the next step";
        Queue "queue" ["tab"] "Send when the turn is over";
        Newline "newline" ["shift+enter", "alt+enter", "ctrl+j"] "A new line; so does `\\` before Enter";
        Left "left" ["left", "ctrl+b"] "One character left";
        Right "right" ["right", "ctrl+f"] "One character right";
        Up "up" ["up"] "One line up; on the first: the prompt before, or the queued one";
        Down "down" ["down", "ctrl+n"] "One line down; on the last: the prompt after";
        WordLeft "word-left" ["alt+b", "ctrl+left", "alt+left"] "One word left";
        WordRight "word-right" ["alt+f", "ctrl+right", "alt+right"] "One word right";
        LineStart "line-start" ["ctrl+a", "home"] "To the start of the line";
        LineEnd "line-end" ["ctrl+e", "end"] "To the end of the line";
        TextStart "text-start" ["ctrl+home", "alt+<"] "To the start of the text";
        TextEnd "text-end" ["ctrl+end", "alt+>"] "To the end of the text";
        DeleteBack "delete-back" ["backspace", "ctrl+h", "shift+backspace"] "Delete the character before";
        DeleteForward "delete-forward" ["delete", "ctrl+d"] "Delete the character after; on an empty line: leave";
        DeleteWordBack "delete-word-back" ["ctrl+w", "alt+backspace", "ctrl+backspace"] "Cut the word before";
        DeleteWordForward "delete-word-forward" ["alt+d", "ctrl+delete", "alt+delete"] "Cut the word after";
        KillLine "kill-line" ["ctrl+k"] "Cut to the end of the line";
        KillLineBack "kill-line-back" ["ctrl+u"] "Cut to the start of the line";
        Yank "yank" ["ctrl+y"] "Put back what was cut";
        YankPop "yank-pop" ["alt+y"] "After that: what was cut before it";
        Transpose "transpose" ["alt+t"] "Swap the characters around the caret";
        Uppercase "uppercase" ["alt+u"] "Capital letters to the end of the word";
        Lowercase "lowercase" ["alt+l"] "Small letters to the end of the word";
        Capitalise "capitalise" ["alt+c"] "A capital letter at the start of the word";
        Undo "undo" ["ctrl+_", "ctrl+/", "ctrl+7"] "Undo typing";
        Redo "redo" ["alt+_", "alt+/", "ctrl+shift+z"] "Redo typing";
        HistorySearch "history-search" ["ctrl+r"] "Search earlier prompts";
        Editor "editor" ["ctrl+g", "ctrl+x ctrl+e"] "Write in your editor ($VISUAL, $EDITOR)";
        PasteImage "paste-image" ["ctrl+v", "alt+v"] "Attach the image on the clipboard, or paste its text";
        Expand "expand" ["alt+e"] "Unfold the pasted text at the caret";
    }
    Completion {
        CompletionUp "completion-up" ["up", "ctrl+p"] "The one above";
        CompletionDown "completion-down" ["down", "ctrl+n"] "The one below";
        Accept "accept" ["tab", "enter"] "Take it";
        Dismiss "dismiss" ["esc"] "Close the list";
    }
    Conversation {
        PageUp "page-up" ["pageup"] "A page up";
        PageDown "page-down" ["pagedown"] "A page down";
        ScrollUp "scroll-up" ["shift+up", "alt+up"] "A line up";
        ScrollDown "scroll-down" ["shift+down", "alt+down"] "A line down";
        Top "top" ["ctrl+pageup", "shift+home"] "To the beginning";
        Bottom "bottom" ["ctrl+pagedown", "shift+end"] "To the newest";
        PreviousTurn "previous-turn" ["alt+pageup"] "To the prompt above";
        NextTurn "next-turn" ["alt+pagedown"] "To the prompt below";
    }
    Approval {
        Confirm "confirm" ["enter"] "Give the chosen answer: yes, once, unless another is chosen";
        NextAnswer "next-answer" ["right", "down"] "Choose the answer after";
        PreviousAnswer "previous-answer" ["left", "up"] "Choose the answer before";
        ApproveOnce "approve-once" ["y"] "Yes, this once";
        ApproveSession "approve-session" ["s"] "Yes, for this session";
        ApproveProject "approve-project" ["p"] "Yes, in this project: keeps a rule";
        ApproveAlways "approve-always" ["a"] "Yes, always: keeps a rule";
        Reject "reject" ["n"] "No; you may say why";
        Modify "modify" ["e"] "Edit it before it runs";
        NextRule "next-rule" ["tab"] "Another rule to keep";
        ShowAll "show-all" ["ctrl+o"] "Show all of it, or less";
    }
    List {
        ListUp "list-up" ["up", "ctrl+p"] "The row above";
        ListDown "list-down" ["down", "ctrl+n"] "The row below";
        ListPageUp "list-page-up" ["pageup"] "A page up";
        ListPageDown "list-page-down" ["pagedown"] "A page down";
        ListTop "list-top" ["home"] "The first row";
        ListBottom "list-bottom" ["end"] "The last row";
        Choose "choose" ["enter"] "Take this one";
        Close "close" ["esc"] "Clear the search; close the view";
        NextPane "next-pane" ["tab"] "To the next part of the view";
        Fork "fork" ["ctrl+f"] "Go on from here in a new session";
        Rename "rename" ["ctrl+r"] "Give it another title";
        Scope "scope" ["ctrl+a"] "This project's or all of them";
        Steer "steer" ["ctrl+s"] "Say something to this subtask";
        Stop "stop" ["ctrl+k"] "Stop this one";
        Revoke "revoke" ["ctrl+d", "delete"] "Take this rule back";
    }
    Changes {
        AcceptHunk "accept-hunk" ["a"] "Accept this hunk";
        RejectHunk "reject-hunk" ["r"] "Take this hunk back";
        AcceptFile "accept-file" ["A"] "Accept all of this file";
        RejectFile "reject-file" ["R"] "Take all of this file back";
        NextHunk "next-hunk" ["n", "down", "j"] "The next hunk";
        PreviousHunk "previous-hunk" ["p", "up", "k"] "The hunk before";
        NextFile "next-file" ["tab", "right", "l"] "The next file";
        PreviousFile "previous-file" ["shift+tab", "left", "h"] "The file before";
        UndoTurn "undo-turn" ["u"] "Take the last turn's changes back";
        RedoTurn "redo-turn" ["ctrl+r"] "Make them again";
    }
}
