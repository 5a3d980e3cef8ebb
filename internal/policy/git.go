package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// verbs are git's own: any other one is an alias of a configuration, or a program git-VERB.
var verbs = words(`add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index
 cherry cherry-pick clean clone column commit commit-graph commit-tree config count-objects credential describe diff diff-files diff-index diff-tree difftool fast-export
 fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help hook init
 index-pack interpret-trailers log lfs ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv
 name-rev notes pack-objects pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog refs remote repack replace replay request-pull rerere reset restore
 rev-list rev-parse revert rm send-email send-pack shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule subtree switch symbolic-ref tag unpack-file
 unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree filter-repo`)

// writing are the verbs that change a worktree or its index.
var writing = words(`add am apply checkout checkout-index cherry-pick clean commit merge mv pull read-tree rebase reset restore revert rm stage stash submodule switch update-index sparse-checkout filter-branch filter-repo`)

// second are the verbs with a second word.
var second = words(`stash worktree remote reflog submodule bisect notes sparse-checkout maintenance bundle config lfs subtree refs`)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// gitCall is a git command as its options before the verb have it.
type gitCall struct {
	dir, gitDir string // "" is not known, and of the second: where git looks
	tree        string
	aliases     map[string]Word
	args        []Word
	lost        bool // something before the verb is not known
}

func (r *reader) git(name string, args []Word) {
	g := gitCall{dir: r.cwd, args: args, aliases: map[string]Word{}}
	for _, v := range []struct {
		name string
		into *string
	}{{"GIT_DIR", &g.gitDir}, {"GIT_WORK_TREE", &g.tree}} {
		if w, ok := r.vars[v.name]; ok && len(w) == 1 && w[0].Text != "" {
			*v.into = r.gitPath(&g, w[0])
		}
	}
	r.gitVariables(&g)
	r.gitOptions(&g)
	r.gitVerb(name, &g, 0)
}

// gitPath is a path among git's options, seen from -C.
func (r *reader) gitPath(g *gitCall, w Word) string {
	if !w.Known() || !path.IsAbs(w.Text) && g.dir == "" {
		g.lost = true
		return ""
	}
	if path.IsAbs(w.Text) {
		return path.Clean(w.Text)
	}
	return path.Join(g.dir, w.Text)
}

// gitOptions reads what stands before the verb.
func (r *reader) gitOptions(g *gitCall) {
	for len(g.args) > 0 && strings.HasPrefix(g.args[0].Text, "-") {
		o := g.args[0]
		g.args = g.args[1:]
		name, _, given := strings.Cut(o.Text, "=")
		if !slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path", "--attr-source", "--list-cmds"}, name) || name == "--exec-path" && !given {
			continue
		}
		value := Word{}
		if given && strings.HasPrefix(name, "--") {
			value = tail(o, len(name)+1)
		} else if len(g.args) > 0 {
			value, g.args = g.args[0], g.args[1:]
		}
		r.gitOption(g, name, value)
	}
}

func (r *reader) gitOption(g *gitCall, name string, value Word) {
	switch name {
	case "-C":
		g.dir = r.gitPath(g, value)
	case "--git-dir":
		g.gitDir = r.gitPath(g, value)
	case "--work-tree":
		g.tree = r.gitPath(g, value)
	case "-c":
		r.gitConfigured(g, value)
	case "--config-env", "--exec-path":
		r.opaque(OpaqueAlias)
	}
}

// gitRuns are the keys whose value git runs.
var gitRuns = []string{"core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "sequence.editor", "diff.external", "pager.*", "credential.*", "filter.*", "diff.*.command", "diff.*.textconv", "merge.*.driver", "difftool.*", "mergetool.*", "gpg.program", "gpg.*.program", "uploadpack.*", "remote.*.uploadpack", "remote.*.receivepack", "browser.*", "man.*", "interactive.difffilter", "web.browser", "trailer.*.command", "trailer.*.cmd"}

func (r *reader) gitConfigured(g *gitCall, w Word) {
	key, _, _ := strings.Cut(w.Text, "=")
	if w.Fixed <= len(key) && !w.Known() {
		r.opaque(OpaqueAlias)
		return
	}
	value := tail(w, min(len(w.Text), len(key)+1))
	key = strings.ToLower(key)
	if verb, ok := strings.CutPrefix(key, "alias."); ok {
		g.aliases[verb] = value
		return
	}
	if key == "core.worktree" {
		g.tree = r.gitPath(g, value)
		return
	}
	r.gitKey(key, value)
}

// gitKey reads what a key of a configuration runs.
func (r *reader) gitKey(key string, value Word) {
	switch {
	case key == "core.hookspath" || key == "core.attributesfile" || strings.HasPrefix(key, "include"):
		r.opaque(OpaqueScript)
	case matchAny(gitRuns, key):
		value.Text = strings.TrimPrefix(value.Text, "!")
		value.Fixed = min(value.Fixed, len(value.Text))
		r.apart(func() { r.text(value, OpaqueEval) })
	}
}

// configured is the value of a variable by which git is given keys: those that are known are read where
// git is called, and another file of keys is not read.
func (r *reader) configured(name string, w Word) {
	keys := name == "GIT_CONFIG_PARAMETERS" || name == "GIT_CONFIG_COUNT" || strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
	if !w.Known() || !keys && strings.Contains(w.Text, ".") {
		r.opaque(OpaqueAlias)
	}
}

// mostKeys is how many keys are read that git is given by variables.
const mostKeys = 50

// gitVariables reads the keys that git is given by variables: GIT_CONFIG_KEY_0=alias.x with its value, and
// GIT_CONFIG_PARAMETERS="'alias.x'='!…' 'core.pager=…'".
func (r *reader) gitVariables(g *gitCall) {
	one := func(name string) (Word, bool) {
		v := r.vars[name]
		return joined(v), len(v) > 0
	}
	for i := range mostKeys {
		key, is := one(fmt.Sprint("GIT_CONFIG_KEY_", i))
		if !is {
			break
		}
		value, _ := one(fmt.Sprint("GIT_CONFIG_VALUE_", i))
		pair := field{fixed: -1}
		for _, w := range []Word{key, known("="), value} {
			pair.put(w)
		}
		r.gitConfigured(g, pair.word())
	}
	all, _ := one("GIT_CONFIG_PARAMETERS")
	for _, pair := range strings.Split(strings.ReplaceAll(all.Text, "'='", "="), "' '") {
		if all.Known() && strings.Contains(pair, ".") {
			r.gitConfigured(g, known(strings.Trim(pair, "' ")))
		}
	}
}

// gitVerb reads the verb, through aliases.
func (r *reader) gitVerb(name string, g *gitCall, deep int) {
	if len(g.args) == 0 {
		r.add(Deed{Program: name})
		return
	}
	d := Deed{Program: name, Args: g.args}
	verb := g.args[0]
	alias, is := g.aliases[strings.ToLower(verb.Text)]
	switch {
	case !verb.Known():
		d.Opaque = OpaqueVariable
		r.add(d)
		return
	case is && deep < 8:
		r.gitAlias(name, g, alias, deep)
		return
	case !verbs[verb.Text]:
		d.Opaque = OpaqueAlias
		r.add(d)
		return
	}
	d.Git = &Git{Verb: verb.Text, Dir: r.gitWhere(g)}
	rest := g.args[1:]
	d.Git.Verb = gitVerb(verb.Text, rest)
	r.gitDeed(&d, g, verb.Text, rest)
	r.add(d)
	r.gitNested(verb.Text, rest, g)
}

// listing are the options with which branch and tag list, and alone what verbs with a second word do without one.
var (
	listing = []string{"--list", "--all", "--remotes", "--verbose", "--show-current", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format", "--column"}
	alone   = map[string]string{"remote": "remote list", "notes": "notes list", "reflog": "reflog show", "submodule": "submodule status", "stash": "stash push"}
)

// gitVerb is a verb with its second word, and branch list and tag list where they only list.
func gitVerb(verb string, rest []Word) string {
	words := operands(rest)
	switch {
	case verb == "branch" || verb == "tag":
		changes := has(rest, "dDmMcCfus", "--delete", "--move", "--copy", "--force", "--set-upstream-to", "--unset-upstream", "--edit-description", "--sign", "--annotate")
		if !changes && (len(words) == 0 || has(rest, "larvn", listing...)) {
			return verb + " list"
		}
	case !second[verb] || verb == "config":
	case len(words) > 0:
		return verb + " " + words[0].Text
	case alone[verb] != "":
		return alone[verb]
	}
	return verb
}

func (r *reader) gitAlias(name string, g *gitCall, alias Word, deep int) {
	r.add(Deed{Program: name, Args: g.args})
	if strings.HasPrefix(alias.Text, "!") {
		r.apart(func() { r.text(joined(append([]Word{tail(alias, 1)}, g.args[1:]...)), OpaqueAlias) })
		return
	}
	if !alias.Known() {
		r.opaque(OpaqueAlias)
		return
	}
	var words []Word
	for _, f := range strings.Fields(alias.Text) {
		words = append(words, known(strings.Trim(f, `'"`)))
	}
	g.args = append(words, g.args[1:]...)
	r.gitVerb(name, g, deep+1)
}

// gitWhere is the folder whose worktree is meant.
func (r *reader) gitWhere(g *gitCall) string {
	switch {
	case g.lost:
		return ""
	case g.tree != "":
		return g.tree
	case g.gitDir != "" && g.gitDir != r.call.Places.Common && g.gitDir != r.call.Places.GitDir:
		return strings.TrimSuffix(g.gitDir, "/.git")
	}
	return g.dir
}

// gitDeed says what the verb touches.
func (r *reader) gitDeed(d *Deed, g *gitCall, verb string, rest []Word) {
	at := reader{call: r.call, shell: shell{cwd: d.Git.Dir, vars: r.vars}}
	if writing[verb] && !slices.Contains([]string{"stash list", "stash show", "submodule status", "submodule summary"}, d.Git.Verb) && !has(rest, "", "--dry-run", "--help") {
		d.Touches = append(d.Touches, at.touch(Write, known("."), false))
	}
	switch verb {
	case "worktree":
		d.Touches = append(d.Touches, at.worktree(d.Git.Verb, operands(rest))...)
	case "push":
		r.push(d, rest)
	case "config":
		r.gitConfig(d, rest)
	case "clone", "init":
		if words := operands(rest); len(words) > 1 || verb == "init" && len(words) > 0 {
			d.Touches = append(d.Touches, at.touch(Write, words[len(words)-1], false))
		}
	case "rm", "mv", "restore", "checkout":
		for _, w := range operands(rest) {
			if strings.Contains(w.Text, "/") && w.Known() && path.IsAbs(w.Text) {
				d.Touches = append(d.Touches, at.touch(Write, w, false))
			}
		}
	case "hash-object", "diff", "apply":
		d.Touches = append(d.Touches, at.reads(rest)...)
	}
	for i, a := range rest {
		if h := hostOf(a.Text); h != "" {
			d.Hosts = append(d.Hosts, h)
		} else if verb == "clone" && i < 3 {
			if h := remoteHost(a.Text); h != "" {
				d.Hosts = append(d.Hosts, h)
			}
		}
	}
}

// worktree touches the folder of a worktree.
func (r *reader) worktree(verb string, words []Word) (out []Touch) {
	if len(words) < 2 {
		return nil
	}
	switch verb {
	case "worktree remove", "worktree move":
		for _, w := range words[1:] {
			out = append(out, r.touch(Delete, w, true))
			for _, other := range r.call.Places.Others { // git takes the end of a path for a worktree's name
				if w.Known() && strings.HasSuffix(other, "/"+strings.Trim(w.Text, "/")) {
					out = append(out, r.touch(Delete, known(other), true))
				}
			}
		}
	case "worktree add":
		return []Touch{r.touch(Write, words[1], false)}
	}
	return out
}

// push says which branches are written, and whether over what was there.
func (r *reader) push(d *Deed, rest []Word) {
	d.Git.Force = has(rest, "f", "--force", "--force-with-lease", "--force-if-includes", "--mirror")
	deletes := has(rest, "d", "--delete")
	var refs []Word
	if words := operands(pushOperands(rest)); len(words) > 1 {
		refs = words[1:]
	}
	for _, w := range refs {
		ref := w.Text
		if strings.HasPrefix(ref, "+") {
			d.Git.Force, ref = true, ref[1:]
		}
		if from, to, ok := strings.Cut(ref, ":"); ok {
			ref = to
			d.Git.Force = d.Git.Force || from == ""
		}
		switch ref = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "heads/"); {
		case ref == "HEAD" || ref == "@":
			ref = r.branch(d.Git.Dir)
		case strings.Contains(ref, "*"):
			d.Git.Refs = append(d.Git.Refs, r.defaults()...)
		}
		d.Git.Refs = append(d.Git.Refs, ref)
	}
	d.Git.Force = d.Git.Force || deletes
	if has(rest, "", "--mirror", "--all", "--branches") {
		d.Git.Refs = append(d.Git.Refs, r.defaults()...)
	} else if len(refs) == 0 {
		d.Git.Refs = append(d.Git.Refs, r.branch(d.Git.Dir))
	}
}

// pushOperands leaves out the values of push's options.
func pushOperands(args []Word) (out []Word) {
	for i := 0; i < len(args); i++ {
		if t := args[i].Text; t == "-o" || t == "--push-option" || t == "--receive-pack" || t == "--exec" || t == "--repo" {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// branch is the one that is checked out in a folder: only that of the agent's own worktree is known.
func (r *reader) branch(dir string) string {
	l := r.call.Places
	if own := l.ClassOf(dir); l.Branch == "" || own != InWorktree && own != WorktreeItself && dir != l.Worktree {
		return gap
	}
	return l.Branch
}

func (r *reader) defaults() []string { return r.call.Places.defaults() }

// defaults are the names of the default branch: the common ones where it is not known.
func (l Places) defaults() []string {
	if l.Default == "" {
		return []string{"main", "master"}
	}
	return []string{l.Default}
}

// gitConfig is a write where a value is given.
func (r *reader) gitConfig(d *Deed, rest []Word) {
	words := operands(rest)
	if len(words) > 0 && slices.Contains([]string{"set", "unset", "rename-section", "remove-section", "edit"}, words[0].Text) {
		d.Git.Verb = "config set"
		words = words[1:]
	} else if len(words) > 0 && (words[0].Text == "get" || words[0].Text == "list") || has(rest, "l", "--get", "--get-all", "--get-regexp", "--list", "--get-urlmatch") {
		return
	} else if len(words) > 1 || has(rest, "e", "--unset", "--unset-all", "--add", "--replace-all", "--edit") {
		d.Git.Verb = "config set"
	}
	if len(words) > 0 {
		words[0].Text = strings.ToLower(words[0].Text)
		d.Args = append([]Word{d.Args[0], words[0]}, d.Args[1:]...)
	}
}

// given are the options whose value a shell reads: at the other end, which may be this machine, or for each commit.
var given = map[string]output{"clone": {[]string{"-u", "--upload-pack"}, "bcoju"}, "fetch": {[]string{"--upload-pack"}, ""}, "pull": {[]string{"--upload-pack"}, ""},
	"ls-remote": {[]string{"--upload-pack", "--exec"}, ""}, "fetch-pack": {[]string{"--upload-pack", "--exec"}, ""}, "push": {[]string{"--receive-pack", "--exec"}, ""},
	"send-pack": {[]string{"--receive-pack", "--exec"}, ""}, "archive": {[]string{"--exec"}, ""}, "rebase": {[]string{"-x", "--exec"}, "xsXSC"}}

// gitNested reads what git itself runs: rebase --exec, bisect run, submodule foreach.
func (r *reader) gitNested(verb string, rest []Word, g *gitCall) {
	cwd := r.cwd
	r.cwd = g.dir
	defer func() { r.cwd = cwd }()
	for _, text := range given[verb].named(rest) {
		r.apart(func() { r.text(text, OpaqueEval) })
	}
	for i, a := range rest {
		next := rest[min(i+1, len(rest)):]
		switch {
		case verb == "bisect" && i == 0 && a.Text == "run":
			r.run(next, OpaqueWrapper)
			return
		case verb == "submodule" && a.Text == "foreach":
			r.apart(func() { r.text(joined(operands(next)), OpaqueEval) })
			return
		case verb == "filter-branch" && strings.HasSuffix(a.Text, "-filter") && len(next) > 0:
			r.apart(func() { r.text(next[0], OpaqueEval) })
		}
	}
}

// IsVerb says whether git knows a verb, with or without its second word.
func IsVerb(s string) bool {
	first, more, both := strings.Cut(s, " ")
	return verbs[first] && (!both || more != "" && (second[first] || first == "config" || more == "list"))
}
