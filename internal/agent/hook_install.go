package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// Hooked says whether agents of a kind tell anything by hooks.
func (k *Kinds) Hooked(kind string) bool {
	of, _ := k.Get(kind)
	return of.Hooks.has()
}

// HookSettings is the file, below HOME, that InstallHooks is for; "" for a kind
// without hooks.
func (k *Kinds) HookSettings(kind string) string {
	of, _ := k.Get(kind)
	return of.Hooks.Settings
}

// HookSettingsOf are those files in the folders of accounts of the kind, absolute: none for a kind whose
// settings are the same in any folder.
func (k *Kinds) HookSettingsOf(kind string, accounts fleet.Accounts) (files []string) {
	of, _ := k.Get(kind)
	below, moved := strings.CutPrefix(of.Hooks.Settings, of.Transcripts.Home+"/")
	for _, a := range accounts {
		if dir := of.Transcripts.Named(fleet.RawPath(a.ConfigDir)); moved && a.Kind == kind && dir != "" {
			files = append(files, path.Join(dir, below))
		}
	}
	return files
}

// HookLimits says, in plain words, what the hooks of a kind do not report or do.
func (k *Kinds) HookLimits(kind string) []string {
	of, _ := k.Get(kind)
	return slices.Clone(of.Hooks.Limits)
}

// InstallHooks adds our hooks to the text of a kind's settings. Nothing else in
// it changes, not a space: every insertion stands directly behind an opening
// bracket. Hooks of ours that are there are replaced, so doing it twice is doing
// it once. A text that cannot be read, or whose hooks have another shape than
// the CLI's, is an error that names the line.
//
// Of a kind with a plugin the file of HookFiles has to be written too.
func (k *Kinds) InstallHooks(kind string, settings []byte, hookBinary, runDir string) ([]byte, error) {
	of, _ := k.Get(kind)
	if path.Base(hookBinary) != "custos-hook" || !path.IsAbs(hookBinary) {
		return nil, fmt.Errorf("cannot add hooks that call %s: it has to be the absolute path of a custos-hook, by which they are known again", fleet.Line(hookBinary, 200))
	}
	b, err := k.UninstallHooks(kind, settings)
	if err != nil {
		return nil, err
	}
	for _, w := range wires(of, hookBinary, runDir) {
		if b, err = insert(b, w.path, w.text); err != nil {
			return nil, fmt.Errorf("cannot add hooks to the settings of %s: %w", kind, err)
		}
	}
	return addStatusLine(of, b, hookBinary, runDir)
}

// UninstallHooks takes our hooks out of the text of a kind's settings. What
// InstallHooks made of a text becomes that text again, byte for byte; hooks that
// were written in another way since are taken out as well as can be.
func (k *Kinds) UninstallHooks(kind string, settings []byte) ([]byte, error) {
	of, _ := k.Get(kind)
	if of.Hooks.Settings == "" {
		return nil, fmt.Errorf("cannot change the hooks of %s: it has none that are known", kind)
	}
	b, err := dropStatusLine(of, slices.Clone(settings))
	if err != nil {
		return nil, fmt.Errorf("cannot read the settings of %s: %w", kind, err)
	}
	for {
		found, err := ours(of, b)
		if err != nil {
			return nil, fmt.Errorf("cannot read the settings of %s: %w", kind, err)
		}
		if len(found) == 0 {
			return b, nil
		}
		// The one that made the most goes last, when the rest of what it made is
		// empty; of the others the foremost, which stands right behind a bracket.
		slices.SortFunc(found, func(x, y place) int { return cmp.Or(x.made-y.made, x.start()-y.start()) })
		b = found[0].remove(b)
	}
}

// HookState is what of our hooks stands in some settings.
type HookState struct {
	Events  []string // that are hooked, in the order of the CLI's life; or the list of plugins
	Missing []string // that are not
	Command string   // of the first: it shows which custos-hook is called
}

// HookStatus reads which of our hooks stand in the text of a kind's settings.
func (k *Kinds) HookStatus(kind string, settings []byte) (HookState, error) {
	of, _ := k.Get(kind)
	wanted := wires(of, "/custos-hook", "/")
	if of.Hooks.Settings == "" {
		return HookState{}, fmt.Errorf("cannot read the hooks of %s: it has none that are known", kind)
	}
	found, err := ours(of, settings)
	if err != nil {
		return HookState{}, fmt.Errorf("cannot read the settings of %s: %w", kind, err)
	}
	var s HookState
	for _, w := range wanted {
		name := w.path[len(w.path)-1]
		i := slices.IndexFunc(found, func(p place) bool { return p.event == name })
		if i < 0 {
			s.Missing = append(s.Missing, name)
			continue
		}
		s.Events = append(s.Events, name)
		if s.Command == "" {
			s.Command = found[i].command
		}
	}
	return s, nil
}

// wire is one element to put into an array of the settings, at a path of keys.
// text is told how many of the lists around it had to be made, which it notes
// down in itself, so that they go when it goes.
type wire struct {
	path []string
	text func(made int) string
}

func wires(k Kind, hookBinary, runDir string) (list []wire) {
	if k.Hooks.Plugin != "" {
		return []wire{{strings.Split(k.Hooks.PluginList, "."), func(made int) string {
			return quoted(pluginAddress(k, runDir, strings.Repeat("./", made)))
		}}}
	}
	for _, e := range k.Hooks.asked() {
		list = append(list, wire{[]string{"hooks", e.Name}, func(made int) string {
			return hookGroup(k, e, fmt.Sprintf("%s --made=%d", hookCommand(k.Name, e.Name, hookBinary, runDir), made))
		}})
	}
	return list
}

// insert puts an element at the front of the array at keys, and makes what is
// missing on the way.
func insert(b []byte, keys []string, text func(int) string) ([]byte, error) {
	at, ok, err := readJSON(b)
	if err != nil {
		return nil, err
	}
	if !ok { // nothing but white space and comments: ours goes before them
		bom := len(b) - len(bytes.TrimPrefix(b, []byte("\ufeff")))
		return slices.Insert(b, bom, []byte(wrapped(keys, text, 0, "{"))...), nil
	}
	for depth := 0; ; depth++ {
		want := byte('{')
		if depth == len(keys) {
			want = '['
		}
		if at.kind != want {
			return nil, fmt.Errorf("%s is there, but is no %s", nameOf(keys[:depth]), map[byte]string{'{': "object", '[': "list"}[want])
		}
		var m member
		if depth < len(keys) {
			if m, ok = at.find(keys[depth]); ok {
				at = m.value
				continue
			}
		}
		return splice(b, at, "\n"+strings.Repeat("  ", depth+1)+wrapped(keys[depth:], text, depth, "")), nil
	}
}

func nameOf(keys []string) string {
	if len(keys) == 0 {
		return "the whole text"
	}
	return fmt.Sprintf("%q", strings.Join(keys, "."))
}

// wrapped is the element with all that has to be made around it: a list for each
// key, and an object for all when open is "{".
func wrapped(keys []string, text func(int) string, depth int, open string) string {
	made := len(keys)
	if open != "" {
		made++
	}
	s := text(made)
	for i := len(keys) - 1; i >= 0; i-- {
		if i == len(keys)-1 {
			s = "[" + s + "]"
		} else {
			s = "{\n" + strings.Repeat("  ", depth+i+2) + s + "}"
		}
		s = quoted(keys[i]) + ": " + s
	}
	if open != "" {
		s = "{\n  " + s + "}"
	}
	return s
}

// splice puts text directly behind the opening bracket of a list.
func splice(b []byte, list node, text string) []byte {
	if len(list.members) > 0 {
		text += ","
	}
	return slices.Insert(b, list.start+1, []byte(text)...)
}

// place is one hook of ours in some settings.
type place struct {
	event   string
	command string
	made    int      // lists that were made for it
	lists   []node   // that hold it, the outermost first
	chain   []member // which member of each leads to it
}

func (p place) start() int { return p.chain[len(p.chain)-1].start }

// within is the place of a member of the list that a place leads to.
func (p place) within(m member) place {
	list := p.chain[len(p.chain)-1].value
	p.lists, p.chain = append(slices.Clone(p.lists), list), append(slices.Clone(p.chain), m)
	return p
}

// ours finds the hooks of ours, at most one for each event.
func ours(k Kind, b []byte) (found []place, err error) {
	root, ok, err := readJSON(b)
	if err != nil || !ok {
		return nil, err
	}
	for _, w := range wires(k, "/custos-hook", "/") {
		p, ok := follow(root, w.path)
		if !ok {
			continue
		}
		for _, el := range p.chain[len(p.chain)-1].value.members {
			if q, ok := p.within(el).claim(k, b); ok {
				found = append(found, q)
				break
			}
		}
	}
	return found, nil
}

// follow finds the array at the end of a path of keys.
func follow(root node, keys []string) (place, bool) {
	p := place{event: keys[len(keys)-1]}
	at := root
	for _, key := range keys {
		m, ok := at.find(key)
		if !ok {
			return place{}, false
		}
		p.lists, p.chain = append(p.lists, at), append(p.chain, m)
		at = m.value
	}
	return p, at.kind == '['
}

// claim says whether the element that a place leads to is ours. In a group that
// a person added hooks of their own to, only our hook is.
func (p place) claim(k Kind, b []byte) (place, bool) {
	el := p.chain[len(p.chain)-1].value
	if k.Hooks.Plugin != "" {
		p.command = el.text(b)
		head, ours := strings.CutSuffix(p.command, pluginName(k))
		for strings.HasSuffix(head, "/./") {
			head = strings.TrimSuffix(head, "./")
			p.made++
		}
		return p, ours && strings.HasPrefix(head, pluginHead(k))
	}
	hooks, _ := el.find("hooks")
	for _, h := range hooks.value.members {
		c, _ := h.value.find("command")
		p.command = c.value.text(b)
		if !isOurCommand(k.Name, p.command) {
			continue
		}
		if len(hooks.value.members) > 1 {
			p.lists, p.chain = append(p.lists, el), append(p.chain, hooks)
			return p.within(h), true
		}
		if _, n, noted := strings.Cut(p.command, " --made="); noted {
			p.made = max(0, strings.Index("0123", n))
		}
		return p, true
	}
	return place{}, false
}

// isOurCommand knows a command of ours by the program it calls.
func isOurCommand(kind, command string) bool {
	for _, quote := range []string{"", "'"} {
		if strings.Contains(command, "/custos-hook"+quote+" "+kind+" ") {
			return true
		}
	}
	return false
}

// remove takes the element out, and of the lists around it those that were made
// for it and are empty without it.
func (p place) remove(b []byte) []byte {
	level := len(p.chain) - 1
	for made := p.made; made > 0 && len(p.lists[level].members) == 1; made-- {
		if level--; level < 0 { // the whole text was made for it
			return slices.Delete(b, p.lists[0].start, p.lists[0].end)
		}
	}
	return cutMember(b, p.lists[level], p.chain[level])
}

// cutMember takes one member out of a list, with the comma behind it, or the one
// before it when it is the last.
func cutMember(b []byte, list node, m member) []byte {
	from, to := m.start, m.value.end
	i := slices.IndexFunc(list.members, func(o member) bool { return o.start == m.start })
	before := list.start + 1
	if i > 0 {
		before = list.members[i-1].value.end
	}
	r := &jsonReader{b: b, i: to}
	comma := r.space() == nil && r.i < len(b) && b[r.i] == ','
	switch {
	case i == 0 && strings.TrimSpace(string(b[before:from])) == "":
		from = before // what stands between the bracket and us came with us
		if comma {
			to = r.i + 1
		}
	case comma:
		to = r.i + 1
	case i > 0:
		if c := strings.IndexByte(string(b[before:from]), ','); c >= 0 && strings.TrimSpace(string(b[before:before+c])) == "" {
			from = before + c
		}
	}
	return slices.Delete(b, from, to)
}
