package agent

import (
	"slices"
	"strings"
	"testing"
)

// A file of a kind changes the keys that it gives, or adds a kind; custos.toml is over it.
func TestKindFiles(t *testing.T) {
	set, aside, err := ParseWith([]Source{
		{"/k/claude.toml", []byte("names = [\"klaus\"]\ninterrupt = [\"C-d\"]\n")},
		{"/k/mine.toml", []byte("names = [\"mine\"]\n[[title]]\nstate = \"idle\"\nsays = \"its title says so\"\nmatch = \"^idle$\"\n")},
	}, Source{"custos.toml", []byte("[kind.claude]\ninterrupt = [\"C-u\"]\n")})
	if err != nil || len(aside) > 0 {
		t.Fatal(err, aside)
	}
	claude, _ := set.Get("claude")
	if !slices.Equal(claude.Names, []string{"klaus"}) || !slices.Equal(claude.Interrupt, []string{"C-u"}) || len(claude.Screen) == 0 {
		t.Errorf("claude: %v, %v, %d marks", claude.Names, claude.Interrupt, len(claude.Screen))
	}
	if want := []string{"/k/claude.toml", "custos.toml"}; !slices.Equal(claude.From, want) {
		t.Errorf("claude comes from %v, want %v", claude.From, want)
	}
	mine, ok := set.Get("mine")
	if m, hit := mine.readTitle("idle"); !ok || !hit || m.State != "idle" {
		t.Errorf("mine: %+v", mine)
	}
	if codex, _ := set.Get("codex"); len(codex.From) != 0 {
		t.Errorf("codex comes from %v", codex.From)
	}
}

// A file that is wrong is set aside whole, with its line, and changes nothing of any kind.
func TestWrongKindFilesAreSetAside(t *testing.T) {
	for text, want := range map[string]string{
		"interrupt = [\"C-d\"]\nnmes = [\"x\"]\n":                                                `/k/claude.toml:2: unknown key "nmes", did you mean "names"?`,
		"interrupt = [\"C-d\"]\nnames = 3\n":                                                     "/k/claude.toml:2: names",
		"interrupt = [\"C-d\"]\n[[screen]]\nstate = \"idle\"\nsays = \"broken\"\nends = \"(\"\n": "/k/claude.toml:4: kind \"claude\": screen mark \"broken\"",
		"interrupt = [\"C-d\"]\n[transcripts]\nlanguage = \"latin\"\n":                           "/k/claude.toml:3: kind \"claude\": transcripts.language",
		"exit = [\"C-c\"]\ninterrupt = [\"Escpe\"]\n":                                            `/k/claude.toml:2: kind "claude": interrupt: "Escpe" is no key that may be pressed, did you mean "Escape"?`,
		"exit = [\"C-cc\"]\n":                                                                    `/k/claude.toml:1: kind "claude": exit: "C-cc" is no key`,
		"exit = [\"C-c\"]\n[composer]\nclear = [\"NoSuchKey\"]\n":                                `/k/claude.toml:3: kind "claude": composer: clear: "NoSuchKey" is no key`,
		"exit = [\"C-c\"]\n[[dialog]]\nid = \"d\"\nsays = \"x\"\nends = \"x\"\nperson = true\n[[dialog.choice]]\nname = \"y\"\nkeys = [\"{n}\", \"Entr\"]\n": `/k/claude.toml:9: kind "claude": keys of choice y of dialog d: "Entr" is no key`,
		"exit = [\"C-c\"]\n[hooks]\nsettings = \"../x.json\"\n":   `/k/claude.toml:3: kind "claude": hooks: settings "../x.json" is no file below the home folder`,
		"exit = [\"C-c\"]\n[hooks]\nsettings = \"/etc/x.json\"\n": `/k/claude.toml:3: kind "claude": hooks: settings "/etc/x.json" is no file below`,
		"exit = [\"C-c\"]\nregistry = \"a/../../b\"\n":            `/k/claude.toml:2: kind "claude": registry "a/../../b" is no folder below`,
		"interrupt = [\"C-d\"\n":                                  "/k/claude.toml:1: ",
	} {
		set, aside, err := ParseWith([]Source{{"/k/claude.toml", []byte(text)}})
		if err != nil || len(aside) != 1 || !strings.Contains(aside[0].Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, aside, err, want)
			continue
		}
		was, _ := kinds(t).Get("claude")
		is, _ := set.Get("claude")
		if !slices.Equal(is.Interrupt, was.Interrupt) || !slices.Equal(is.Names, was.Names) || len(is.Screen) != len(was.Screen) || len(is.From) > 0 {
			t.Errorf("%q: claude is %v, %v", text, is.Names, is.From)
		}
	}
	set, aside, err := ParseWith([]Source{{"/k/cluade.toml", []byte("interrupt = [\"C-d\"]\n")}, {"/k/new.toml", []byte("# of mine\n")}})
	if _, is := set.Get("cluade"); err != nil || is || len(aside) != 2 || !strings.Contains(aside[0].Error(), `did you mean "claude"?`) || !strings.Contains(aside[1].Error(), "matches no process") {
		t.Errorf("kinds that cannot be met: %v, %v", aside, err)
	}
}

// A file without a word changes nothing, and is none of a new kind: its writer is told so.
func TestAnEmptyKindsFileIsSaid(t *testing.T) {
	for _, name := range []string{"/k/mine.toml", "/k/claude.toml"} {
		_, aside, err := ParseWith([]Source{{Name: name, Text: []byte(" \n")}})
		if err != nil || len(aside) != 1 || !strings.Contains(aside[0].Error(), "cannot read "+name+": it is empty") {
			t.Errorf("%v, %v", aside, err)
		}
	}
}

// TestWhatWasTooLongCanBeMadeShorter: of each kind that tells of a compaction by a command of its
// own, that command is known; without it the agent stays as full as it is.
func TestWhatWasTooLongCanBeMadeShorter(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		if k := kindOf(t, name); k.CompactCommand != "/compact" {
			t.Errorf("%s is told %q", name, k.CompactCommand)
		}
	}
}
