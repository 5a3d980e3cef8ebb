package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/nearest"
)

// configName is the section of a file that is no story, but the custos.toml that its
// stories are judged by.
const configName = "custos.toml"

// File is what one file tells.
type File struct {
	Name    string
	Config  []byte // nil: there is none. It begins with empty lines, so that its lines count as in the file
	Stories []Story
}

// Story is one section: moments, each of which begins from the healthy world.
type Story struct {
	Name  string
	Steps []Step
	rules []Line // that say which rule the wants are about
}

// Names refuses a rule that there is not, whether or not something is wanted of it.
func (s Story) Names(known Known) error {
	for _, l := range s.rules {
		if !slices.Contains(known.Rules, l.Rest) {
			return l.Errorf("there is no rule %q%s", l.Rest, nearest.Hint(l.Rest, known.Rules))
		}
	}
	return nil
}

// Step is one moment of a story.
type Step struct {
	At      time.Duration // since the start
	Back    time.Duration // how far the newest record lies ahead of the clock; 0: it does not
	Patrol  bool
	Line    int
	Changes []Line // of the healthy world, in their order
	Asks    []Ask
	Wants   []Want
	screens map[string]string // that signals may name
}

// Line is one line that says something.
type Line struct {
	File       string
	Number     int // from 1
	Word, Rest string
}

// Errorf is an error with the place of the line.
func (l Line) Errorf(format string, args ...any) error {
	return fmt.Errorf("cannot read %s:%d: %s", l.File, l.Number, fmt.Sprintf(format, args...))
}

// Want is what must be true, of a rule where it is about one.
type Want struct {
	Line
	Rule string
}

// The words that a line may begin with, by what they do.
var (
	changes = []string{"set", "gone", "part", "agents", "signals"}
	wants   = []string{"want", "wish", "wish?", "no", "state", "do", "skip", "move", "record"}
	others  = []string{"at", "clock", "rule", "ask"}
)

// Read reads a file of stories. rule is the one that wants are about until a line
// "rule NAME" says otherwise; "" where none is. Its errors name file and line.
func Read(name string, text []byte, rule string) (File, error) {
	if i := slices.IndexFunc(strings.Split(string(text), "\n"), isNameless); i >= 0 {
		return File{}, fmt.Errorf("cannot read %s:%d: a section has no name", name, i+1)
	}
	a := txtar.Parse(text)
	out, line, screens := File{Name: name}, 1+strings.Count(string(a.Comment), "\n"), screensOf(a)
	for _, f := range a.Files {
		line++ // its header
		switch {
		case f.Name == configName:
			out.Config = append([]byte(strings.Repeat("\n", line-1)), f.Data...)
		case !strings.HasPrefix(f.Name, screenName):
			r := reader{story: Story{Name: f.Name}, rule: rule, screens: screens}
			if err := r.read(name, string(f.Data), line); err != nil {
				return File{}, err
			}
			out.Stories = append(out.Stories, r.story)
		}
		line += strings.Count(string(f.Data), "\n")
	}
	if len(out.Stories) == 0 {
		return File{}, fmt.Errorf("cannot read %s: it has no story: a section -- NAME -- with a line such as at 0s", name)
	}
	return out, nil
}

// isNameless says whether a line begins a section without a name, which the library
// does not expect.
func isNameless(line string) bool { return strings.TrimSuffix(line, "\r") == "-- --" }

// screenName is how the name of a section begins that is no story, but a screen.
const screenName = "screen "

func screensOf(a *txtar.Archive) map[string]string {
	out := map[string]string{}
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, screenName); ok {
			out[name] = string(f.Data)
		}
	}
	return out
}

// reader reads one story.
type reader struct {
	story   Story
	always  []Line // before the first moment: true at each
	rule    string
	screens map[string]string
}

func (r *reader) read(file, text string, first int) error {
	for i, s := range strings.Split(text, "\n") {
		s = strings.TrimSpace(s)
		if s == "" || strings.HasPrefix(s, "#") {
			continue
		}
		l := Line{File: file, Number: first + i}
		l.Word, l.Rest, _ = strings.Cut(s, " ")
		l.Rest = strings.TrimSpace(l.Rest)
		if err := r.line(l); err != nil {
			return err
		}
	}
	if len(r.story.Steps) == 0 {
		return fmt.Errorf("cannot read %s:%d: story %q has no moment: a line such as at 0s", file, first, r.story.Name)
	}
	return nil
}

func (r *reader) line(l Line) error {
	n := len(r.story.Steps)
	switch {
	case l.Word == "at":
		return r.begin(l)
	case l.Word == "rule":
		r.rule, r.story.rules = l.Rest, append(r.story.rules, l)
	case slices.Contains(changes, l.Word) && n == 0:
		r.always = append(r.always, l)
	case slices.Contains(changes, l.Word):
		r.story.Steps[n-1].Changes = append(r.story.Steps[n-1].Changes, l)
	case n == 0 && (slices.Contains(wants, l.Word) || l.Word == "clock" || l.Word == "ask"):
		return l.Errorf("%q comes before the first moment: begin with a line such as at 0s", l.Word)
	case slices.Contains(wants, l.Word):
		r.story.Steps[n-1].Wants = append(r.story.Steps[n-1].Wants, Want{Line: l, Rule: r.rule})
	case l.Word == "ask":
		a, err := readAsk(l)
		if err != nil {
			return err
		}
		r.story.Steps[n-1].Asks = append(r.story.Steps[n-1].Asks, a)
	case l.Word == "clock":
		d, err := time.ParseDuration(strings.TrimPrefix(l.Rest, "back "))
		if err != nil {
			return l.Errorf("clock back takes a duration such as 10m, not %q", l.Rest)
		}
		r.story.Steps[n-1].Back = d
	default:
		return l.Errorf("no line begins with %q%s", l.Word, nearest.Hint(l.Word, slices.Concat(changes, wants, others)))
	}
	return nil
}

// begin begins a moment.
func (r *reader) begin(l Line) error {
	text, patrol, _ := strings.Cut(l.Rest, " ")
	at, err := time.ParseDuration(text)
	switch n := len(r.story.Steps); {
	case err != nil || at < 0:
		return l.Errorf("at takes a duration since the start, such as 0s or 1h30m, not %q", text)
	case patrol != "" && patrol != "patrol":
		return l.Errorf("after the duration comes nothing, or patrol, not %q", patrol)
	case n > 0 && at < r.story.Steps[n-1].At:
		return l.Errorf("%s comes after %s: moments stand in their order", text, r.story.Steps[n-1].At)
	}
	r.story.Steps = append(r.story.Steps, Step{At: at, Patrol: patrol != "", Line: l.Number, Changes: slices.Clone(r.always), screens: r.screens})
	return nil
}
