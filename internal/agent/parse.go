package agent

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/nearest"
)

//go:embed kinds/*.toml
var builtin embed.FS

// Source is a whole custos.toml; only its kind table is read.
type Source struct {
	Name string // for errors: the path of the file
	Text []byte
}

// Parse returns the built-in kinds, changed and added to by the [kind.NAME]
// tables of the sources, in order. A key that is given replaces the built-in
// one; a list is replaced whole. Errors name file and line, all of a file at once.
func Parse(overlays ...Source) (*Kinds, error) {
	kinds, err := builtins()
	if err != nil {
		return nil, err
	}
	return overlaid(kinds, overlays)
}

// overlaid puts the tables of the sources over kinds.
func overlaid(kinds map[string]Kind, overlays []Source) (*Kinds, error) {
	for _, o := range overlays {
		table := struct {
			Kind map[string]Kind `toml:"kind"`
		}{kinds}
		if err := decode(o, &table, "kind"); err != nil {
			return nil, err
		}
		if err := finish(o, kinds, table.Kind); err != nil {
			return nil, err
		}
		kinds = table.Kind
	}
	set := &Kinds{}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		set.list = append(set.list, kinds[name])
	}
	return set, nil
}

func builtins() (map[string]Kind, error) {
	entries, err := builtin.ReadDir("kinds")
	if err != nil {
		return nil, fmt.Errorf("cannot read built-in kinds: %w", err)
	}
	kinds := map[string]Kind{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".toml")
		if kinds[name], err = builtinKind(name); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// builtinKind reads one built-in kind anew; a name that none has is an fs.ErrNotExist.
func builtinKind(name string) (Kind, error) {
	file := "kinds/" + name + ".toml"
	text, err := builtin.ReadFile(file)
	if err != nil {
		return Kind{}, fmt.Errorf("cannot read built-in kinds: %w", err)
	}
	var k Kind
	if err := decode(Source{file, text}, &k); err != nil {
		return Kind{}, err
	}
	if k, err = k.finished(name); err != nil {
		return Kind{}, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return k, nil
}

// decode reads TOML strictly below the given top-level table (everywhere, when
// none is given).
func decode(s Source, into any, table ...string) error {
	err := toml.NewDecoder(bytes.NewReader(s.Text)).DisallowUnknownFields().Decode(into)
	var strict *toml.StrictMissingError
	var one *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		return unknownKeys(s, strict.Errors, table)
	case errors.As(err, &one):
		row, _ := one.Position()
		return fmt.Errorf("cannot read %s:%d: %s: %w", s.Name, row, strings.Join(one.Key(), "."), err)
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", s.Name, err)
	}
	return nil
}

func unknownKeys(s Source, found []toml.DecodeError, table []string) error {
	var errs []error
	for _, e := range found {
		key := e.Key()
		if len(table) > 0 && (len(key) == 0 || key[0] != table[0]) {
			continue // another package's table
		}
		row, _ := e.Position()
		last := key[len(key)-1]
		errs = append(errs, fmt.Errorf("cannot read %s:%d: unknown key %q%s", s.Name, row, last, nearest.Hint(last, keys())))
	}
	return errors.Join(errs...)
}

// keys lists every key a kind may have, those of its marks included.
func keys() []string {
	var all []string
	for _, t := range []reflect.Type{reflect.TypeFor[Kind](), reflect.TypeFor[TitleMark](), reflect.TypeFor[ScreenMark](),
		reflect.TypeFor[DialogMark](), reflect.TypeFor[ChoiceMark](), reflect.TypeFor[ComposerMark](), reflect.TypeFor[SpecialMark](), reflect.TypeFor[LaunchMark](),
		reflect.TypeFor[HooksMark](), reflect.TypeFor[ToolsMark](), reflect.TypeFor[HookEventMark](), reflect.TypeFor[HookCase](), reflect.TypeFor[HookFields](), reflect.TypeFor[TranscriptMark]()} {
		for i := range t.NumField() {
			if tag := t.Field(i).Tag.Get("toml"); tag != "" && tag != "-" {
				all = append(all, tag)
			}
		}
	}
	return all
}

// finish checks the kinds of an overlay.
func finish(s Source, before, after map[string]Kind) error {
	var errs []error
	var said struct {
		Kind map[string]any `toml:"kind"`
	}
	_ = toml.Unmarshal(s.Text, &said) // it was decoded before
	for _, name := range slices.Sorted(maps.Keys(after)) {
		k, err := after[name].finished(name)
		if err == nil && before[name].Name == "" && !k.canBeMet() {
			err = noKind(name, before)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot read %s:%d: %w", s.Name, lineOf(s.Text, name, err), err))
		}
		if _, given := said.Kind[name]; given {
			k.From = append(slices.Clip(k.From), s.Name)
		}
		after[name] = k
	}
	return errors.Join(errs...)
}

// canBeMet: there is something by which a process of it can be known.
func (k Kind) canBeMet() bool {
	return len(k.Names)+len(k.Titles)+len(k.Programs)+len(k.Scripts)+len(k.Modules) > 0
}

// noKind refuses a kind that is not there and could not be met.
func noKind(name string, before map[string]Kind) error {
	var known []string
	for other, k := range before {
		if k.Name != "" { // the others are those of the overlay, not finished yet
			known = append(known, other)
		}
	}
	if hint := nearest.Hint(name, known); hint != "" {
		return fmt.Errorf("there is no kind %q%s", name, hint)
	}
	return fmt.Errorf("kind %q matches no process: give it names, titles, programs, scripts or modules", name)
}

// lineOf finds what is wrong with a kind: the first key of [kind.NAME] that the error
// names, else the header, or that of a table below it.
func lineOf(text []byte, name string, err error) int {
	re := regexp.MustCompile(`(?m)^\s*\[{1,2}\s*kind\s*\.\s*["']?` + regexp.QuoteMeta(name) + `\b["']?`)
	at := re.FindIndex(text)
	if at == nil {
		return 1
	}
	end := at[1]
	own := nextTable.Split(string(text[end:]), 2)[0]
	for _, key := range anyKey.FindAllString(err.Error(), -1) {
		if in := regexp.MustCompile(`(?m)^\s*` + key + `\s*=`).FindStringIndex(own); in != nil && own[0] == ']' {
			end += in[1]
			break
		}
	}
	return 1 + bytes.Count(text[:end], []byte("\n"))
}

var (
	nextTable = regexp.MustCompile(`(?m)^\s*\[`)
	anyKey    = regexp.MustCompile(`[a-z_]+`)
)

// finished checks the marks of a kind and compiles its screens, dialogs and
// composer.
func (k Kind) finished(name string) (Kind, error) {
	k.Name = name
	for _, finish := range []func(*Kind) error{(*Kind).finishVersions, (*Kind).finishTitles, (*Kind).finishScreens, (*Kind).finishDialogs, (*Kind).finishKeys, (*Kind).finishComposer, (*Kind).finishLaunch, (*Kind).finishHooks, (*Kind).finishTranscripts} {
		if err := finish(&k); err != nil {
			return k, fmt.Errorf("kind %q: %w", name, err)
		}
	}
	return k, nil
}

func (k *Kind) finishTitles() error {
	if k.SilentTitle != "" {
		if err := k.SilentTitle.check(); err != nil {
			return fmt.Errorf("silent_title: %w", err)
		}
	}
	for _, m := range k.Title {
		if m.State == "" || m.Says == "" || m.Match.re == nil {
			return errors.New("a title mark needs state, says and match")
		}
		if err := m.State.check(); err != nil {
			return fmt.Errorf("title mark %q: %w", m.Says, err)
		}
	}
	return nil
}

func (k *Kind) finishScreens() error {
	k.screen = nil
	for _, m := range k.Screen {
		if m.State == "" || m.Says == "" || m.Ends == "" {
			return fmt.Errorf("screen mark %q: a screen mark needs state, says and ends", m.Says)
		}
		if err := m.State.check(); err != nil {
			return fmt.Errorf("screen mark %q: %w", m.Says, err)
		}
		re, err := k.compile(m.Ends)
		if err != nil {
			return fmt.Errorf("screen mark %q: %w", m.Says, err)
		}
		k.screen = append(k.screen, re)
	}
	return nil
}

// compile puts the parts into an expression for whole lines, which is tried on
// ends of the screen.
func (k *Kind) compile(ends string) (*regexp.Regexp, error) {
	for _, part := range slices.Sorted(maps.Keys(k.Parts)) {
		ends = strings.ReplaceAll(ends, "{"+part+"}", "(?:"+k.Parts[part]+")")
	}
	return regexp.Compile(`\A(?:` + ends + `)\z`)
}
