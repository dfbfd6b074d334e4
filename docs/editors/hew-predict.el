;;; hew-predict.el --- Edit predictions of hew -*- lexical-binding: t -*-

;; Needs Emacs 28.1. (load "…/hew-predict.el"), then M-x hew-predict-mode in a buffer of a file, or
;; (add-hook 'prog-mode-hook #'hew-predict-mode). While a prediction is shown: TAB accepts it, M-f its next word, and
;; C-g rejects it.

;;; Code:

(require 'jsonrpc)

(defvar hew-predict-command '("hew" "predict") "The command of the server.")
(defvar hew-predict--servers nil "Servers by the folder of their project.")
(defvar-local hew-predict--version 0)
(defvar-local hew-predict--state nil "The text and the cursor for which a prediction was requested.")
(defvar-local hew-predict--overlay nil "Shows the prediction.")
(defvar-local hew-predict--item nil "The prediction.")
(defvar-local hew-predict--timer nil)

(defun hew-predict--server ()
  "Return the server of the project, started if necessary."
  (let* ((root (expand-file-name (or (locate-dominating-file default-directory ".git") default-directory)))
         (known (cdr (assoc root hew-predict--servers))))
    (if (and known (jsonrpc-running-p known))
        known
      (let* ((default-directory root)
             (server (make-instance
                      'jsonrpc-process-connection :name "hew-predict"
                      :process (lambda ()
                                 (make-process :name "hew-predict" :command hew-predict-command :connection-type 'pipe
                                               :coding 'utf-8-emacs-unix :noquery t
                                               :stderr (get-buffer-create "*hew-predict errors*"))))))
        (jsonrpc-request server :initialize
                         (list :processId (emacs-pid) :rootUri (concat "file://" root) :capabilities '(:textDocument nil)))
        (jsonrpc-notify server :initialized (make-hash-table))
        (setf (alist-get root hew-predict--servers nil nil #'equal) server)))))

(defun hew-predict--document ()
  (list :uri (concat "file://" (url-hexify-string buffer-file-name url-path-allowed-chars)) :version hew-predict--version))

(defun hew-predict--text ()
  (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max))))

(defun hew-predict--column (from to)
  "The distance of FROM and TO in UTF-16 code units."
  (/ (length (encode-coding-string (buffer-substring-no-properties from to) 'utf-16le)) 2))

(defun hew-predict--point (position)
  "The buffer position of an LSP POSITION."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (forward-line (plist-get position :line))
      (let ((start (point)))
        (while (and (not (eolp)) (< (hew-predict--column start (point)) (plist-get position :character)))
          (forward-char))
        (point)))))

(defun hew-predict--request ()
  "Send the text if it changed, and ask for a prediction at the cursor."
  (let ((server (hew-predict--server)) (buffer (current-buffer))
        (state (setq hew-predict--state (cons (buffer-chars-modified-tick) (point)))))
    (setq hew-predict--version (1+ hew-predict--version))
    (if (= hew-predict--version 1)
        (jsonrpc-notify server :textDocument/didOpen
                        (list :textDocument (append (hew-predict--document) (list :languageId "text" :text (hew-predict--text)))))
      (jsonrpc-notify server :textDocument/didChange
                      (list :textDocument (hew-predict--document) :contentChanges (vector (list :text (hew-predict--text))))))
    (jsonrpc-async-request
     server :textDocument/inlineCompletion
     (list :textDocument (hew-predict--document) :context '(:triggerKind 2)
           :position (list :line (1- (line-number-at-pos nil t))
                           :character (hew-predict--column (line-beginning-position) (point))))
     :success-fn (lambda (answer)
                   (when (buffer-live-p buffer)
                     (with-current-buffer buffer
                       (when (equal state (cons (buffer-chars-modified-tick) (point)))
                         (hew-predict--show (plist-get answer :items))))))
     :error-fn #'ignore :timeout-fn #'ignore :timeout 60)))

(defun hew-predict--ghost ()
  "The part of the prediction after the cursor."
  (let ((start (hew-predict--point (plist-get (plist-get hew-predict--item :range) :start))))
    (substring (plist-get hew-predict--item :insertText) (- (point) start))))

(defun hew-predict--show (items)
  (hew-predict--hide)
  (when (> (length items) 0)
    (setq hew-predict--item (elt items 0))
    (let ((end (hew-predict--point (plist-get (plist-get hew-predict--item :range) :end)))
          (ghost (propertize (hew-predict--ghost) 'face 'shadow)))
      ;; The cursor stays before the text.
      (put-text-property 0 1 'cursor t ghost)
      (setq hew-predict--overlay (make-overlay (point) (max end (point))))
      (overlay-put hew-predict--overlay 'after-string ghost)
      (overlay-put hew-predict--overlay 'invisible (> end (point)))
      (hew-predict-shown-mode 1)
      (jsonrpc-notify (hew-predict--server) :textDocument/didShowCompletion (list :item hew-predict--item)))))

(defun hew-predict--hide ()
  (when hew-predict--overlay (delete-overlay hew-predict--overlay))
  (setq hew-predict--overlay nil hew-predict--item nil)
  (hew-predict-shown-mode -1))

(defun hew-predict--execute (command)
  (jsonrpc-async-request (hew-predict--server) :workspace/executeCommand (list :command command :arguments [])
                         :success-fn #'ignore :error-fn #'ignore))

(defun hew-predict-accept ()
  "Accept the prediction."
  (interactive)
  (let ((ghost (hew-predict--ghost)) (end (overlay-end hew-predict--overlay)))
    (hew-predict--execute "hew.acceptPrediction")
    (hew-predict--hide)
    (delete-region (point) end)
    (insert ghost)))

(defun hew-predict-accept-word ()
  "Accept the next word of the prediction."
  (interactive)
  (let ((ghost (hew-predict--ghost)))
    (hew-predict--hide)
    (insert (if (string-match "\\`[^[:alnum:]_]*[[:alnum:]_]+" ghost) (match-string 0 ghost) ghost))))

(defun hew-predict-reject ()
  "Reject the prediction."
  (interactive)
  (hew-predict--execute "hew.rejectPrediction")
  (hew-predict--hide)
  (setq hew-predict--state (cons (buffer-chars-modified-tick) (point))))

(defvar hew-predict-shown-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "TAB") #'hew-predict-accept)
    (define-key map (kbd "M-f") #'hew-predict-accept-word)
    (define-key map (kbd "C-g") #'hew-predict-reject)
    map))

(define-minor-mode hew-predict-shown-mode "Keys while a prediction is shown." :keymap hew-predict-shown-mode-map)

(defun hew-predict--after-command ()
  (unless (equal hew-predict--state (cons (buffer-chars-modified-tick) (point)))
    (hew-predict--hide)
    (when hew-predict--timer (cancel-timer hew-predict--timer))
    ;; The server waits for a pause in the typing.
    (let ((buffer (current-buffer)))
      (setq hew-predict--timer
            (run-with-timer 0.02 nil (lambda () (when (buffer-live-p buffer)
                                                  (with-current-buffer buffer (hew-predict--request)))))))))

(define-minor-mode hew-predict-mode
  "Show edit predictions of hew."
  :lighter " hew"
  (if hew-predict-mode
      (add-hook 'post-command-hook #'hew-predict--after-command nil t)
    (remove-hook 'post-command-hook #'hew-predict--after-command t)
    (hew-predict--hide)))

(provide 'hew-predict)
;;; hew-predict.el ends here
