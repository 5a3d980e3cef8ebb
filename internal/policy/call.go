package policy

import (
	"path"
	"strings"
)

// Access is what is done to a path.
type Access string

// What is done to paths.
const (
	Read   Access = "read"
	Write  Access = "write"
	Delete Access = "delete"
)

// Call is one call of a tool by an agent's CLI.
type Call struct {
	Tool    string // as the CLI calls it: Bash, Write, mcp__files__write
	Command string // of a shell, with Shell
	Shell   bool
	Read    []string // the paths of tools on files, absolute or below Cwd
	Write   []string
	Delete  []string
	URL     string
	Unread  string // why the tool's input could not be read; "" where it was
	Cwd     string // absolute; "" is not known
	Places  Places
}

// Places is what lies where, each as a cleaned absolute path; "" and none are not known.
type Places struct {
	Worktree string   `json:"worktree,omitempty"` // the agent's own
	GitDir   string   `json:"git_dir,omitempty"`  // of that worktree
	Common   string   `json:"common,omitempty"`   // what all worktrees of the repository share
	Home     string   `json:"home,omitempty"`
	Others   []string `json:"others,omitempty"`   // worktrees of other agents
	Custos   []string `json:"custos,omitempty"`   // folders of Custos's own
	Secrets  []string `json:"secrets,omitempty"`  // besides those that are known everywhere
	Settings []string `json:"settings,omitempty"` // files and folders in which the CLI is told of hooks, besides the known ones
	Temp     []string `json:"temp,omitempty"`     // besides /tmp and /var/tmp
	Branch   string   `json:"branch,omitempty"`   // that is checked out in the worktree
	Default  string   `json:"default,omitempty"`  // branch of the project; main and master where it is not known

	classed map[Touch][]Class // while one call is judged: what was told of each touch
}

// Class says where a path lies.
type Class string

// Where paths lie.
const (
	InWorktree     Class = "worktree"
	WorktreeItself Class = "worktree-itself" // the whole of it
	InGit          Class = "git"             // what commits write: objects, refs, the worktree's own entry
	InGitHooks     Class = "git-hooks"
	InGitConfig    Class = "git-config"
	InGitOther     Class = "git-other" // the entries of other worktrees
	InHome         Class = "home"      // what is below it, and in none of the others
	HomeItself     Class = "home-itself"
	Root           Class = "root" // /, and what stands directly in it
	InSecrets      Class = "secrets"
	InSettings     Class = "settings" // where the CLI is told of its hooks
	InOthers       Class = "others"
	InCustos       Class = "custos"
	InTemp         Class = "temp"
	Device         Class = "device"
	Outside        Class = "outside"
	NotKnown       Class = "unknown"
)

var classNames = []Class{InWorktree, WorktreeItself, InGit, InGitHooks, InGitConfig, InGitOther, InHome, HomeItself, Root, InSecrets, InSettings, InOthers, InCustos, InTemp, Device, Outside, NotKnown}

// below says whether a path is a folder, or lies in it.
func below(p, dir string) bool {
	if dir == "" {
		return false
	}
	return p == dir || dir == "/" || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// longest is the length of the longest of the folders that a path lies in.
func longest(p string, dirs ...string) (n int) {
	for _, d := range dirs {
		if below(p, d) {
			n = max(n, len(d))
		}
	}
	return n
}

// Known everywhere, below the home.
var (
	secretHome = []string{".ssh", ".gnupg", ".aws/credentials", ".netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".config/gcloud", ".azure", ".kube/config",
		".docker/config.json", ".npmrc", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".password-store", ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json"}
	secretNot  = []string{".ssh/known_hosts", ".ssh/config"}
	secretRoot = []string{"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.ssh"}
	// settingsIn are where CLIs are told of hooks, below the home and a worktree.
	settingsIn = []string{".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json", ".qwen/settings.json", ".config/opencode/plugin", ".config/opencode/plugins", ".config/opencode/opencode.json", ".opencode/plugin", ".opencode/plugins"}
)

// ClassOf says where a cleaned absolute path lies.
func (l Places) ClassOf(p string) Class {
	if c := l.special(p); c != "" {
		return c
	}
	at, class := 0, Class("")
	for _, in := range []struct {
		class Class
		dirs  []string
	}{{InTemp, append([]string{"/tmp", "/var/tmp"}, l.Temp...)}, {InOthers, l.Others}, {InWorktree, []string{l.Worktree}}} {
		if n := longest(p, in.dirs...); n > at {
			at, class = n, in.class
		}
	}
	switch {
	case p == l.Home:
		return HomeItself
	case class != "" && !(below(l.Home, "/tmp") && class == InTemp && below(p, l.Home)):
		return class
	case l.Home != "/" && below(p, l.Home):
		return InHome
	case strings.Count(p, "/") < 2:
		return Root
	case below(p, "/dev"):
		return Device
	}
	return Outside
}

// special finds what is of a class of its own wherever it lies.
func (l Places) special(p string) Class {
	switch {
	case l.Worktree != "" && p == l.Worktree+"/.git" && p != l.GitDir: // it says which repository this is
		return InGitConfig
	case longest(p, l.Custos...) > 0:
		return InCustos
	case l.isSecret(p):
		return InSecrets
	case longest(p, l.Settings...) > 0 || l.isSetting(p):
		return InSettings
	}
	return l.gitClass(p)
}

func (l Places) isSecret(p string) bool {
	if longest(p, l.Secrets...)+longest(p, secretRoot...) > 0 {
		return true
	}
	if strings.HasPrefix(p, "/proc/") && strings.HasSuffix(p, "/environ") {
		return true
	}
	rel, in := under(p, l.Home)
	return in && longest(rel, secretHome...) > 0 && longest(rel, secretNot...) == 0 && !strings.HasSuffix(rel, ".pub")
}

func (l Places) isSetting(p string) bool {
	for _, dir := range []string{l.Home, l.Worktree} {
		if rel, in := under(p, dir); in && longest(rel, settingsIn...) > 0 {
			return true
		}
	}
	return strings.HasPrefix(p, "/etc/claude-code/") || strings.HasPrefix(p, "/etc/codex/")
}

// under is a path as it is below a folder.
func under(p, dir string) (string, bool) {
	if dir == "" || p == dir || !below(p, dir) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"), true
}

// gitClass finds what lies in the folder of a repository: the agent's, or any that is called .git.
func (l Places) gitClass(p string) Class {
	common := l.Common
	if !below(p, common) || common == "" {
		at := strings.Index(p+"/", "/.git/")
		if at < 0 {
			return ""
		}
		common = p[:at] + "/.git"
	}
	rel, _ := under(p, common)
	if below(p, l.GitDir) && l.GitDir != common {
		rel, _ = under(p, l.GitDir)
	}
	first, _, _ := strings.Cut(rel, "/")
	switch {
	case first == "hooks":
		return InGitHooks
	case rel == "config" || rel == "config.worktree" || rel == "info/attributes":
		return InGitConfig
	case first == "worktrees" && rel != "worktrees" && (l.GitDir == common || !below(p, l.GitDir)):
		return InGitOther
	case first == "modules" && strings.Contains(rel, "/hooks/"):
		return InGitHooks
	case p == l.Worktree, l.isNested(common): // what lies there is a folder of the agent's like any other
		return ""
	}
	return l.ofOthers(p)
}

// isNested says whether the folder of a repository is one that was cloned into the agent's worktree, or a temporary folder.
func (l Places) isNested(p string) bool {
	if longest(p, append([]string{"/tmp", "/var/tmp"}, l.Temp...)...) > 0 && longest(p, append([]string{l.Worktree, l.Home}, l.Others...)...) == 0 && !below(l.Common, p) {
		return true
	}
	return below(p, l.Worktree) && p != l.Worktree+"/.git" && !below(l.Common, p) && longest(p, l.Others...) < len(l.Worktree)
}

// ofOthers is git, unless it is in another worktree and not of the agent's repository.
func (l Places) ofOthers(p string) Class {
	if n := longest(p, l.Others...); n > 0 && !below(p, l.Common) && n > longest(p, l.Worktree) {
		return InOthers
	}
	return InGit
}

// roots are all the places that something recursive can reach from above.
func (l Places) roots() []struct {
	class Class
	dirs  []string
} {
	settings := append([]string{}, l.Settings...)
	secrets := append([]string{}, l.Secrets...)
	if l.Home != "" {
		for _, s := range secretHome {
			secrets = append(secrets, path.Join(l.Home, s))
		}
	}
	return []struct {
		class Class
		dirs  []string
	}{{WorktreeItself, []string{l.Worktree}}, {InOthers, l.Others}, {HomeItself, []string{l.Home}}, {InCustos, l.Custos},
		{InSettings, settings}, {InSecrets, secrets}, {InGit, []string{l.Common, l.GitDir}}}
}

// more are the classes of what a touch that goes down reaches below its path.
func (l Places) more(t Touch) (list []Class) {
	if !t.Recursive || t.Unknown {
		return nil
	}
	if !t.Below && t.Path == l.Worktree {
		list = append(list, WorktreeItself)
	}
	for _, in := range l.roots() {
		for _, d := range in.dirs {
			if d != "" && d != t.Path && below(d, t.Path) && strings.HasPrefix(d, t.Start) {
				list = append(list, in.class)
				break
			}
		}
	}
	return list
}

// Classes are the names of all classes.
func Classes() []string {
	var out []string
	for _, c := range classNames {
		out = append(out, string(c))
	}
	return out
}
