package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func call(command string) Call {
	return Call{Tool: "Bash", Shell: true, Command: command, Cwd: "/w", Places: Places{Worktree: "/w", Home: "/home/dev"}}
}

// A command is read in a bounded time and to a bounded depth, whatever it is; what is not read is opaque.
func TestBounds(t *testing.T) {
	mib := func(s string) string { return strings.Repeat(s, (1<<17)/len(s)) }
	for name, command := range map[string]string{
		"too long":  strings.Repeat("a", 1<<20+1),
		"subshells": mib("("), "substitutions": mib("$("), "backquotes": mib("`"), "braces": mib("{ "), "brackets": mib("[["), "negated": mib("! "), "ifs": mib("if "), "whiles": mib("while "), "times": mib("time "),
		"cases": mib("case x in x) "), "functions": mib("function f "), "arithmetic": mib("$(("), "parameters": mib("${x:-"), "quoted": mib(`"$(`), "extended patterns": mib("@("), "here-documents": mib("<<a "), "process": mib("<("), "tests": "[[ " + mib("! "), "signs": "echo $((" + mib("-"), "tildes": "echo $((" + mib("~"),
		"eval in eval": strings.Repeat("eval ", 1000) + "ls", "shell in shell": shells20(),
		"words that double": "a=(x y); " + strings.Repeat(`a=("${a[@]}" "${a[@]}"); `, 60), "a text that doubles": "a=x; " + strings.Repeat("a=$a$a; ", 60),
		"functions that call each other": callers(), "variables that are copied": strings.Repeat("v=1||", 10) + many(), "complements": "echo $((" + mib("~") + "1))", "minus": "echo $((" + mib("- ") + "1))", "words in braces": "echo " + mib("{a,b}"),
		"nul": "ls\x00", "bytes": "ls \xff\xfe", "coprocs": mib("coproc "), "arrays": mib("a=( "), "negative": mib("x=$((1-"), "powers": "echo $((1" + mib("**1") + "))", "ternary": "echo $((" + mib("1?1:") + "1))", "ands": "[[ a" + mib(" && a") + " ]]",
	} {
		t.Run(name, func(t *testing.T) {
			from := time.Now()
			deeds := call(command).Deeds()
			if !slices.ContainsFunc(deeds, func(d Deed) bool { return d.Opaque != "" }) && !strings.Contains("eval in eval powers ternary ands here-documents words in braces complements minus", name) {
				t.Errorf("nothing of it is opaque: %d deeds", len(deeds))
			}
			if took := time.Since(from); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// shells20 is a shell in a shell, twenty times.
func shells20() string {
	s := "ls"
	for range 20 {
		s = "eval '" + strings.ReplaceAll(s, "'", `'\\''`) + "'"
		if len(s) > 1<<19 {
			break
		}
	}
	return s
}

func callers() string {
	var b strings.Builder
	for i := range 15 {
		b.WriteString(fmt.Sprintf("f%d() { %s }\n", i, strings.Repeat(fmt.Sprintf("f%d; ", i+1), 12)))
	}
	return b.String() + "f15() { x=1; }\nf0"
}

func many() string {
	var b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&b, "v%d=1||", i)
	}
	return b.String() + "ls"
}

// What is long and flat is read to its end.
func TestLong(t *testing.T) {
	for name, command := range map[string]string{
		"and":      strings.Repeat("true && ", 20000) + "rm -rf ~",
		"then":     strings.Repeat("true; ", 15000) + "rm -rf ~",
		"or":       strings.Repeat("true || ", 15000) + "rm -rf ~",
		"pipe":     strings.Repeat("true | ", 15000) + "rm -rf ~",
		"words":    "echo " + strings.Repeat("word ", 30000) + "; rm -rf ~",
		"text":     "echo '" + strings.Repeat("word ", 150000) + "'; rm -rf ~",
		"comments": strings.Repeat("# nothing\n", 20000) + "rm -rf ~",
	} {
		t.Run(name, func(t *testing.T) {
			deeds := call(command).Deeds()
			found := slices.ContainsFunc(deeds, func(d Deed) bool {
				return d.Opaque == OpaqueSize || d.Program == "rm" && slices.ContainsFunc(d.Touches, func(x Touch) bool { return x.Path == "/home/dev" && x.Recursive })
			})
			if !found {
				t.Errorf("%d deeds, and none is the last one", len(deeds))
			}
		})
	}
}

// A clone in a temporary folder is no repository that others use, unless another agent works in it.
func TestRepositoriesInTemporaryFolders(t *testing.T) {
	l := Places{Worktree: "/home/dev/w", Common: "/home/dev/w/.git", GitDir: "/home/dev/w/.git", Home: "/home/dev", Others: []string{"/tmp/theirs"}}
	for p, want := range map[string]Class{"/tmp/t/.git": InTemp, "/tmp/theirs/.git": InOthers, "/tmp/theirs/sub/.git": InOthers, "/home/dev/w/v/.git": InWorktree, "/home/dev/w/.git": InGit,
		"/home/dev/x/.git": InGit, "/home/dev/w/v/.git/hooks/x": InGitHooks} {
		if is := l.ClassOf(p); is != want {
			t.Errorf("%s is %s, want %s", p, is, want)
		}
	}
}
