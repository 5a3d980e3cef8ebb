package web

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"custos/internal/api"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// assets are the style and the script: ours, and the same for everybody.
func assets() http.Handler {
	return http.FileServerFS(regular{assetFiles})
}

// regular shows files and no folders.
type regular struct{ fs.FS }

func (f regular) Open(name string) (fs.File, error) {
	if info, err := fs.Stat(f.FS, name); err != nil || info.IsDir() {
		return nil, fs.ErrNotExist
	}
	return f.FS.Open(name)
}

// pages are the templates, each within the frame of the page.
type pages map[string]*template.Template

func parsePages() (pages, error) {
	frame, err := template.New("frame.html").Funcs(functions()).ParseFS(pageFiles, "pages/frame.html", "pages/parts.html")
	if err != nil {
		return nil, fmt.Errorf("cannot read the pages: %w", err)
	}
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("cannot read the pages: %w", err)
	}
	all := pages{}
	for _, file := range names {
		one, err := frame.Clone()
		if err == nil {
			one, err = one.ParseFS(pageFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the pages: %w", err)
		}
		all[strings.TrimSuffix(strings.TrimPrefix(file, "pages/"), ".html")] = one
	}
	return all, nil
}

// page is what a template is given.
type page struct {
	Name    string // of the template
	Title   string
	Path    string // for what in the menu is shown
	Session Session
	At      time.Time // when what it shows was seen
	Banners []banner
	Still   bool // it stays as it was loaded: what it shows is of the past, or takes long
	Data    any
}

// CanAct says whether what is shown has forms.
func (p page) CanAct() bool { return !p.Session.Link }

// banner is what is wrong with Custos itself, or holds it back.
type banner struct{ Kind, Says string }

// notice is a page that says one thing.
type notice struct {
	Title, Says string
	Command     string // to type on the machine
	GoOn        string // a link; "" for none
}

// view makes a page of what was asked.
type view func(ctx context.Context, r *http.Request) (page, error)

// shown answers with a page, and with what is wrong with Custos on top of it. Persons see
// the same one; each link has its own.
func (s *site) shown(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.RequestURI()
		if session := sessionOf(r); session.Link {
			key = session.ID + " " + key
		}
		m, err := s.shared.get(s.Peers.Looks(r.Context()), key, func(ctx context.Context) ([]byte, error) {
			p, err := v(ctx, s.asDone(r))
			if err != nil {
				return nil, err
			}
			p.Path, p.Session = r.URL.Path, sessionOf(r)
			p.Banners = append(s.banners(ctx), p.Banners...)
			return s.render(p)
		})
		if err != nil {
			s.fail(w, r, err)
			return
		}
		m.send(w, r, http.StatusOK)
	}
}

// say answers with one thing.
func (s *site) say(w http.ResponseWriter, r *http.Request, status int, n notice) {
	if r.Method == http.MethodPost && n.GoOn == r.URL.EscapedPath() { // of which there is no page
		n.GoOn = n.GoOn[:strings.LastIndex(n.GoOn, "/")]
	}
	body, err := s.render(page{Name: "notice", Title: n.Title, Session: sessionOf(r), Data: n})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	(&madePage{body: body, packed: packed(body)}).send(w, r, status)
}

// render is a whole page: one that fails in the middle would look like one.
func (s *site) render(p page) ([]byte, error) {
	var b bytes.Buffer
	if err := s.pages[p.Name].ExecuteTemplate(&b, "frame.html", p); err != nil {
		return nil, fmt.Errorf("cannot show the page: a fault of Custos: %w", err)
	}
	return b.Bytes(), nil
}

// banners say what is wrong with Custos itself. What cannot be told is a banner, too.
func (s *site) banners(ctx context.Context) (out []banner) {
	add := func(kind, format string, args ...any) { out = append(out, banner{kind, fmt.Sprintf(format, args...)}) }
	status, err := s.api.Status(ctx)
	if err != nil {
		add("bad", "How Custos itself is cannot be told: %v", err)
	}
	if status.Frozen != "" {
		add("bad", "Frozen: nothing is done. %s", status.Frozen)
	}
	for _, p := range status.Paused {
		add("note", "Paused: project %s", p)
	}
	health, err := s.api.Health(ctx, 0)
	switch {
	case err != nil:
		add("bad", "Whether Custos watches cannot be told: %v", err)
	case health.State != api.HealthWell:
		add("bad", "Custos does not watch as it should (%s): %s. What is shown may be old.", health.State, health.Why)
	}
	for _, n := range append(append(status.Notes, health.Notes...), health.Mute...) {
		if !said(out, n) {
			add("note", "%s", n)
		}
	}
	return out
}

func said(all []banner, what string) bool {
	for _, b := range all {
		if b.Says == what {
			return true
		}
	}
	return false
}

// functions are what templates call.
func functions() template.FuncMap {
	return template.FuncMap{
		"clock":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"moment":    func(t *time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"bytes":     func(n *int64) string { return api.Size(*n) },
		"percent":   func(f *float64) string { return fmt.Sprintf("%.0f %%", *f) },
		"load":      func(f *float64) string { return fmt.Sprintf("%.1f", *f) },
		"dollars":   func(f *float64) string { return cmp.Or(api.Dollars(*f), "$0") },
		"thousands": func(n *int64) string { return cmp.Or(api.Tokens(*n), "0") },
		"tokens":    api.Tokens,
		"money":     api.Dollars,
		"number":    api.Count,
		"span":      api.Span,
		"exact":     api.Exact,
		"age":       age,
		"tone":      tone,
		"mailState": mailState, "scheduleState": scheduleState,
		"command":   commandText,
		"agentPath": agentPath,
		"rowPath":   rowPath,
		"alertPage": alertPage,
		"plural":    plural,
		"workPath":  workPath, "gatePath": gatePath, "convoyPath": convoyPath, "mailPath": mailPath, "receiverPath": receiverPath, "runPath": runPath, "budgetPath": budgetPath,
		"field":        func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }, // of a form
		"alertPath":    alertPath,
		"thenPath":     thenPath,
		"yesno":        yesno,
		"whyPath":      whyPath,
		"checkClass":   checkClass,
		"partClass":    partClass,
		"worktreeName": func(path string) string { return "worktree/" + path },
	}
}

func plural(n int, one, more string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, more)
}

// yesno is what is known of a question.
func yesno(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "yes"
	}
	return "no"
}

// commandText is a command as it would be typed: what a shell would take apart is quoted.
func commandText(c api.Command) string {
	words := make([]string, 0, len(c.Argv))
	for _, w := range c.Argv {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`&|;<>()*?[]{}~#!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func agentPath(name string) string { return "/agents/" + url.PathEscape(name) }
