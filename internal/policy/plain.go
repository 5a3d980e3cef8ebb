package policy

import (
	"slices"
	"strings"
)

// effect says what a program does to its operands.
type effect struct {
	access    Access
	which     string // all, first, last, notfirst
	recursive string // options with which it goes down: letters, "*" always
	others    Access // what is done to the operands that are not meant by which
	certain   bool   // only words that cannot be the value of an option are operands
}

var effects = map[string]effect{
	"rm": {access: Delete, which: "all", recursive: "rR"}, "rmdir": {access: Delete, which: "all"}, "unlink": {access: Delete, which: "all"}, "shred": {access: Delete, which: "all"},
	"trash": {access: Delete, which: "all", recursive: "*"}, "trash-put": {access: Delete, which: "all", recursive: "*"}, "gio": {access: Delete, which: "notfirst", recursive: "*"},
	"rimraf": {access: Delete, which: "all", recursive: "*"}, "srm": {access: Delete, which: "all", recursive: "rR"}, "wipe": {access: Delete, which: "all", recursive: "*"},
	"touch": {access: Write, which: "all"}, "mkdir": {access: Write, which: "all"}, "mkfifo": {access: Write, which: "all"}, "mknod": {access: Write, which: "all"}, "tee": {access: Write, which: "all"},
	"truncate": {access: Write, which: "all"}, "sponge": {access: Write, which: "all"}, "patch": {access: Write, which: "all"},
	"chmod": {access: Write, which: "notfirst", recursive: "R"}, "chown": {access: Write, which: "notfirst", recursive: "R"}, "chgrp": {access: Write, which: "notfirst", recursive: "R"}, "chattr": {access: Write, which: "notfirst", recursive: "R"}, "setfacl": {access: Write, which: "notfirst", recursive: "R"},
	"cp": {access: Write, which: "last", others: Read}, "install": {access: Write, which: "last", others: Read}, "split": {access: Write, which: "notfirst", certain: true}, "uniq": {access: Write, which: "notfirst", certain: true}, "zip": {access: Write, which: "first", others: Read},
	"rsync": {access: Write, which: "last", others: Read}, "scp": {access: Write, which: "last", others: Read},
	"ln": {access: Write, which: "last"}, "mv": {access: Write, which: "last", others: Delete},
	"mkswap": {access: Write, which: "all"}, "wipefs": {access: Write, which: "all"}, "fdisk": {access: Write, which: "all"}, "sfdisk": {access: Write, which: "all"}, "sgdisk": {access: Write, which: "all"}, "gdisk": {access: Write, which: "all"}, "cfdisk": {access: Write, which: "all"}, "parted": {access: Write, which: "all"}, "blkdiscard": {access: Write, which: "all"},
	"vi": {access: Write, which: "all"}, "vim": {access: Write, which: "all"}, "nvim": {access: Write, which: "all"}, "nano": {access: Write, which: "all"}, "emacs": {access: Write, which: "all"}, "ed": {access: Write, which: "all"},
}

// output are the options of a program that name a file to write, and the letters of those that take a
// value: what stands behind one of them in the same word is that. Without them letters do not stand together.
type output struct {
	options []string
	values  string
}

var outputs = map[string]output{
	"curl": {[]string{"-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header", "--output-dir", "--trace", "--trace-ascii", "--stderr", "--etag-save"}, "AbCcDdEeFHhKmoPQrTtUuwXxYyz"},
	"wget": {[]string{"-O", "--output-document", "-o", "-a", "-P", "--directory-prefix"}, "aeiBoOtTwQPUlARDIX"},
	"sort": {[]string{"-o", "--output"}, "kSTto"}, "shuf": {[]string{"-o", "--output"}, "ino"},
	"7z": {[]string{"-o"}, ""}, "7za": {[]string{"-o"}, ""}, "7zr": {[]string{"-o"}, ""},
	"zstd": {[]string{"-o"}, "oDM"}, "csplit": {[]string{"-f", "--prefix"}, "fbn"}, "unzip": {[]string{"-d"}, "dPx"},
	"gcc": {[]string{"-o"}, ""}, "cc": {[]string{"-o"}, ""}, "clang": {[]string{"-o"}, ""}, "go": {[]string{"-o"}, ""}, "pandoc": {[]string{"-o"}, ""}, "openssl": {[]string{"-out"}, ""},
}

// formatters write the files that they are given: with one of these words, or always where there is none.
var formatters = map[string][]string{"gofmt": {"-w", "-w=true"}, "goimports": {"-w"}, "gofumpt": {"-w"}, "shfmt": {"-w", "--write"}, "prettier": {"--write", "-w"}, "eslint": {"--fix"}, "clang-format": {"-i"},
	"black": nil, "isort": nil, "rustfmt": nil, "ruff": {"format", "--fix", "--fix-only", "--add-noqa"}}

// inputs are the options that name a file to read.
var inputs = map[string]output{"curl": {[]string{"-T", "--upload-file", "-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "-F", "--form"}, outputs["curl"].values}}

// tarValues are the letters of tar's options with a value.
const tarValues = "CfbTXNVgIKLHF"

// packers put a file of another name in the place of each that they are given.
var packers = words("gzip gunzip pigz bzip2 bunzip2 xz unxz lzma unlzma dos2unix unix2dos")

// silent are programs whose words are no files that they read.
var silent = map[string]bool{"echo": true, "printf": true, "true": true, "false": true, "test": true, "[": true, "ls": true, "stat": true, "basename": true, "dirname": true, "realpath": true, "readlink": true, "which": true, "type": true,
	"gh": true, "glab": true, "tea": true, "custos": true, "ssh-add": true, "ssh-keygen": true, "kill": true, "sleep": true, "chmod": true, "chown": true, "chgrp": true, "mkdir": true, "touch": true, "exit": true, "return": true, "logger": true, "notify-send": true, "mail": true, "ssh": true, "bd": true, "jj": true, ":": true, "file": true, "du": true}

// codes are interpreters of other languages, and the letters behind which the code stands.
var codes = map[string]string{"python": "c", "python2": "c", "python3": "c", "node": "ep", "nodejs": "ep", "deno": "", "bun": "e", "perl": "eE", "ruby": "e", "php": "rBRE", "lua": "e", "luajit": "e", "osascript": "e", "pwsh": "c", "Rscript": "e", "tclsh": "", "expect": "c", "ghc": "e", "vim": "c", "nvim": "c", "ex": "c", "emacs": ""}

// plain is a program that runs no other one that its words name.
func (r *reader) plain(name string, args []Word) {
	d := Deed{Program: name, Args: args, Opaque: r.code(name, args)}
	d.Touches = r.effects(name, args)
	if name == "split" {
		for _, w := range (output{options: []string{"--filter"}}).named(args) {
			r.apart(func() { r.text(w, OpaqueEval) })
		}
	}
	if !silent[name] {
		d.Touches = append(d.Touches, r.reads(args)...)
	}
	for _, a := range args {
		h := hostOf(a.Text)
		if h == "" && (name == "scp" || name == "rsync") {
			h = remoteHost(a.Text)
		}
		if h != "" {
			d.Hosts = append(d.Hosts, h)
		}
	}
	r.add(d)
}

// code says whether an interpreter is given code, which is not read.
func (r *reader) code(name string, args []Word) string {
	if strings.HasPrefix(name, "python3.") {
		name = "python3"
	}
	letters, is := codes[name]
	if (name == "awk" || name == "gawk" || name == "mawk") && len(args) > 0 && (strings.Contains(joined(args).Text, "system(") || strings.Contains(joined(args).Text, "getline")) {
		return OpaqueCode
	}
	if !is {
		return ""
	}
	for _, a := range args {
		if a.Text == "-" || a.Text == "--eval" || a.Text == "--print" || a.Text == "eval" {
			return OpaqueCode
		}
		if len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && letters != "" && strings.ContainsAny(a.Text[1:min(len(a.Text), 4)], letters) {
			return OpaqueCode
		}
		if !strings.HasPrefix(a.Text, "-") {
			return ""
		}
	}
	if len(args) == 0 && r.stdin != nil && !strings.Contains("vim nvim emacs ex", name) {
		return OpaqueCode
	}
	return ""
}

// has says whether one of some letters stands among the options.
func has(args []Word, letters string, long ...string) bool {
	for _, a := range args {
		t := a.Text
		switch {
		case t == "--":
			return false
		case strings.HasPrefix(t, "--"):
			name, _, _ := strings.Cut(t, "=")
			for _, l := range long {
				if len(name) > 3 && strings.HasPrefix(l, name) {
					return true
				}
			}
		case len(t) > 1 && t[0] == '-' && strings.ContainsAny(t[1:], letters):
			return true
		}
	}
	return false
}

func (r *reader) effects(name string, args []Word) (out []Touch) {
	e, ok := effects[name]
	if strings.HasPrefix(name, "mkfs") || strings.HasPrefix(name, "mke2fs") {
		e, ok = effect{access: Write, which: "all"}, true
	}
	if (name == "sed" || name == "gsed" || name == "perl" || name == "ruby") && inPlace(args) {
		e, ok = effect{access: Write, which: "notfirst"}, true
		if has(args, "e", "--expression") {
			e.which = "all"
		}
	}
	if is, writes := r.writer(name, args); writes {
		e, ok = is, true
	}
	if name == "rsync" && has(args, "n", "--dry-run", "--list-only") {
		return nil
	}
	if name == "tar" {
		return r.tar(args)
	}
	if strings.HasPrefix(name, "7z") && len(args) > 0 && slices.Contains([]string{"a", "u", "d", "rn"}, args[0].Text) {
		e, ok, args = effect{access: Write, which: "first", others: Read}, true, args[1:]
	}
	if ok {
		out = r.apply(e, args)
	}
	if name == "rsync" && has(args, "", "--delete-before", "--delete-after", "--delete-excluded") && len(out) > 0 {
		last := out[len(out)-1]
		last.Access, last.Recursive = Delete, true
		out = append(out, last)
	}
	return append(out, r.outputs(name, args)...)
}

// writer is what a program does that writes, or destroys, only as its options say.
func (r *reader) writer(name string, args []Word) (e effect, writes bool) {
	all := effect{access: Write, which: "all"}
	words, formats := formatters[name]
	switch {
	case name == "zip" && has(args, "m", "--move"):
		return effect{access: Write, which: "first", others: Delete, recursive: "r"}, true
	case (name == "dos2unix" || name == "unix2dos") && has(args, "n", "--newfile"):
		return effect{access: Write, which: "last", others: Read}, true
	case packers[name]:
		return all, !has(args, "clt", "--stdout", "--to-stdout", "--list", "--test")
	case formats:
		given := func(a Word) bool {
			return slices.Contains(words, a.Text) || slices.Contains(words, "-w") && !strings.HasPrefix(a.Text, "--") && has([]Word{a}, "w")
		}
		all.certain = true
		looks := has(args, "", "--check", "--check-only", "--diff", "--dry-run", "--emit") || name == "isort" && has(args, "c")
		return all, (words == nil || slices.ContainsFunc(args, given)) && !looks
	case name == "go" && len(args) > 0 && args[0].Text == "fmt":
		return effect{access: Write, which: "notfirst"}, true
	case name == "rsync" && has(args, "", "--remove-source-files", "--remove-sent-files"):
		return effect{access: Write, which: "last", others: Delete}, true
	case name == "badblocks":
		return all, has(args, "wn")
	case name == "cryptsetup":
		destroys := func(a Word) bool {
			return slices.Contains([]string{"luksFormat", "luksErase", "erase", "format"}, a.Text)
		}
		return effect{access: Write, which: "notfirst"}, slices.ContainsFunc(args, destroys)
	}
	return effect{}, false
}

func inPlace(args []Word) bool {
	for _, a := range args {
		t := a.Text
		if strings.HasPrefix(t, "--in-place") || len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsRune(t, 'i') {
			return true
		}
	}
	return false
}

func (r *reader) apply(e effect, args []Word) (out []Touch) {
	recursive := e.recursive == "*" || e.recursive != "" && has(args, e.recursive, "--recursive")
	words := operands(args)
	if e.certain {
		words = certain(args)
	}
	if to, ok := target(args); ok && e.which == "last" {
		words = append(without(words, to), to)
	}
	for i, w := range words {
		access := e.access
		if e.which == "notfirst" && i == 0 || e.which == "first" && i > 0 || e.which == "last" && i < len(words)-1 {
			access = e.others
		}
		if access == "" || nowhere(r.touch(access, w, false)) {
			continue
		}
		out = append(out, r.touch(access, w, recursive))
	}
	return out
}

func without(words []Word, not Word) (out []Word) {
	for _, w := range words {
		if w != not {
			out = append(out, w)
		}
	}
	return out
}

// target is the folder of -t.
func target(args []Word) (Word, bool) {
	for i, a := range args {
		if rest, ok := strings.CutPrefix(a.Text, "--target-directory="); ok {
			return tail(a, len(a.Text)-len(rest)), true
		}
		if (a.Text == "-t" || a.Text == "--target-directory") && i+1 < len(args) {
			return args[i+1], true
		}
	}
	return Word{}, false
}

// flags are options that take no value, of whatever program writes what it is given.
var flags = words("-w -w=true -lw -wl --write -i --fix --fix-only --add-noqa -q --quiet -v --verbose -s -e -r -9 -1")

// certain are the operands that cannot be the value of an option: what stands behind one that is not known to
// take none may be.
func certain(args []Word) (out []Word) {
	for i, w := range args {
		if i == 0 || !strings.HasPrefix(args[i-1].Text, "-") || args[i-1].Text == "--" || flags[args[i-1].Text] || strings.Contains(args[i-1].Text, "=") {
			out = append(out, operands([]Word{w})...)
		}
	}
	return out
}

// tar writes the archive that it makes, or where it unpacks one.
func (r *reader) tar(args []Word) (out []Touch) {
	if len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") {
		args = dashed(args, tarValues)
	}
	made := output{[]string{"-f", "--file"}, tarValues}
	if has(args, "x", "--extract", "--get") {
		made.options = []string{"-C", "--directory"}
	} else if !has(args, "cruA", "--create", "--append", "--update", "--concatenate", "--delete") {
		return nil
	}
	for _, w := range made.named(args) {
		if t := r.touch(Write, w, false); w.Text != "-" && !nowhere(t) {
			out = append(out, t)
		}
	}
	return out
}

// named are the values of the options.
func (o output) named(args []Word) (out []Word) {
	for _, option := range o.options {
		for i, a := range args {
			value, is := o.value(option, a)
			if is && value.Text == "" && i+1 < len(args) {
				value = args[i+1]
			}
			if is && value.Text != "" {
				out = append(out, value)
			}
		}
	}
	return out
}

func (r *reader) outputs(name string, args []Word) (out []Touch) {
	for _, w := range outputs[name].named(args) {
		if t := r.touch(Write, w, false); w.Text != "-" && !nowhere(t) {
			out = append(out, t)
		}
	}
	for _, w := range inputs[name].named(args) {
		if at := strings.IndexByte(w.Text, '@'); at >= 0 && at < w.Fixed {
			w = tail(w, at+1)
		}
		if t := r.touch(Read, w, false); !nowhere(t) {
			out = append(out, t)
		}
	}
	return out
}

// value is what an option has in its own word; none where that is the next one.
func (o output) value(option string, a Word) (value Word, is bool) {
	switch {
	case a.Text == option:
		return Word{}, true
	case strings.HasPrefix(option, "--"): // which may be shortened
		name, _, _ := strings.Cut(a.Text, "=")
		return tail(a, min(len(a.Text), len(name)+1)), len(name) > 4 && strings.HasPrefix(option, name)
	case len(option) != 2 || len(a.Text) < 2 || a.Text[0] != '-' || a.Text[1] == '-':
		return Word{}, false
	}
	for i := 1; i < len(a.Text); i++ {
		if a.Text[i] == option[1] {
			return trimEqual(tail(a, i+1)), true
		}
		if o.values == "" || strings.IndexByte(o.values, a.Text[i]) >= 0 {
			break
		}
	}
	return Word{}, false
}

// dashed are the words of tar's old way, in which the letters stand first and then their values: each letter
// with its own.
func dashed(args []Word, values string) (out []Word) {
	rest := args[1:]
	for _, letter := range args[0].Text {
		out = append(out, known("-"+string(letter)))
		if strings.ContainsRune(values, letter) && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}

func trimEqual(w Word) Word {
	if strings.HasPrefix(w.Text, "=") {
		return tail(w, 1)
	}
	return w
}

// reads are the operands that may be files: they count where secrets lie.
func (r *reader) reads(args []Word) (out []Touch) {
	for _, a := range args {
		switch at := strings.IndexByte(a.Text, '='); {
		case strings.HasPrefix(a.Text, "@"):
			a = tail(a, 1)
		case at > 0 && at+1 < len(a.Text) && strings.ContainsRune("/@", rune(a.Text[at+1])):
			a = tail(a, at+1)
			if strings.HasPrefix(a.Text, "@") {
				a = tail(a, 1)
			}
		case strings.HasPrefix(a.Text, "-"):
			continue
		}
		if a.Text == "" || strings.ContainsAny(a.Text, "\n") || strings.Contains(a.Text, "://") {
			continue
		}
		if t := r.touch(Read, a, false); !nowhere(t) {
			out = append(out, t)
		}
	}
	return out
}

// dd names its files by if= and of=.
func (r *reader) dd(name string, args []Word) {
	d := Deed{Program: name, Args: args}
	for _, a := range args {
		for prefix, access := range map[string]Access{"of=": Write, "if=": Read} {
			if strings.HasPrefix(a.Text, prefix) {
				if t := r.touch(access, tail(a, len(prefix)), false); !nowhere(t) {
					d.Touches = append(d.Touches, t)
				}
			}
		}
	}
	r.add(d)
}
