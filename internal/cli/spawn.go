package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/remote"
)

// spawnFlags are the flags of spawn as they are typed.
type spawnFlags struct {
	api.SpawnRequest
	depth  int
	labels []string
	branch string // of --worktree
	memory string
}

// ownBranch is --worktree without a branch, as help shows it.
const ownBranch = "agent/NAME"

func (a *app) spawnCommand() *cobra.Command {
	f, s := orderFlags{held: true}, spawnFlags{}
	c := &cobra.Command{
		Use:   "spawn NAME [-- ARGV…]",
		Short: "Start an agent, and keep it",
		Long: `spawn registers an agent under a name and starts it: in a terminal of Custos's own
tmux server, or without one (--headless). What follows -- is the agent's own
command line; without it the kind says what to run. Any command will do: one that
is no agent CLI that is known is of kind generic: Custos sees that it
runs, what it writes, its title and how it ended, and guesses nothing. A name has
1 to 64 letters of a to z, digits, ".", "-" and "_". With --worktree it gets a
worktree and a branch of its own, made of the repository; when anything of the
start fails, all of it is taken back. It is started again when it fails, in mode
observe too, unless --restart says never. Its first prompt is --prompt, else made of
--task and --spec, with --files; it is sent when the agent is ready.

With --host it is started on another machine, by the Custos there, with paths as they
are there (--dir has no default then); with --host any on the host of the hub, this one
too, that has the fewest agents for its processors, lets people order from elsewhere,
and has each --label. One host takes the order; where the answer is lost no other is
asked.

Without a daemon the agent starts all the same, and outlives this command, but
nothing watches it until custos up. An agent that spawns becomes the parent.`,
		Example: "  custos spawn builder --kind claude --prompt 'Mend the tests'\n  custos spawn dev1 --kind codex --worktree --task T-17 --parent lead\n  custos spawn fixer -- claude --model opus\n  custos spawn nightly -- ./my-wrapper.sh --all\n  custos spawn trainer --host any --label gpu --kind claude --dir /srv/shop",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() > 1 || cmd.ArgsLenAtDash() == -1 && len(args) > 1 || cmd.ArgsLenAtDash() == 0 {
				return usage("cannot spawn: want one name, and the command line behind --")
			}
			q, err := s.request(cmd, args[1:], a.onHost != "" || a.host != nil)
			if err != nil {
				return err
			}
			o := api.OrderRequest{Do: "spawn", Agent: args[0], Spawn: &q}
			if a.onHost == remote.AnyHost {
				return a.place(cmd, o, f, s.labels)
			}
			if len(s.labels) > 0 {
				return usage("cannot spawn by --label: it is for --host any")
			}
			return a.order(cmd, o, f)
		},
	}
	f.add(c)
	s.add(c)
	return c
}

func (s *spawnFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.Kind, "kind", "", "`KIND` of agent: claude, codex, gemini, … (default: by the name of its program)")
	f.StringVar(&s.Task, "task", "", "the `TASK` it works on: an ID, or words")
	f.StringVar(&s.Spec, "spec", "", "the `FILE` that says what is to be done")
	f.StringArrayVar(&s.Files, "files", nil, "a `FILE`, folder or pattern that it is started for; more of them behind commas (\\, is one of a name), or more than once: who else changes it is told, and so is it")
	f.StringVar(&s.Prompt, "prompt", "", "the first `TEXT` it is given")
	f.StringVar(&s.Parent, "parent", "", "`NAME` of the agent it works for")
	f.IntVar(&s.depth, "depth", 0, "refuse unless this is its `DEPTH` below its parents (which is computed)")
	f.StringVar(&s.Run, "run", "", "`ID` of the run it belongs to (default: the parent's)")
	f.StringVar(&s.Role, "role", "", "its `ROLE`")
	f.StringVar(&s.Project, "project", "", "its `PROJECT`")
	f.StringVar(&s.branch, "worktree", "", "give it a worktree of its own, on this new `BRANCH`")
	f.Lookup("worktree").NoOptDefVal = ownBranch
	f.StringVar(&s.Repo, "repo", "", "`FOLDER` of the repository of the worktree (default: this one)")
	f.StringVar(&s.Dir, "dir", "", "`FOLDER` it works in (default: this one); with --worktree, the folder to make (default: beside the repository)")
	f.BoolVar(&s.Headless, "headless", false, "without a terminal; what it writes goes to capped logs")
	f.StringVar(&s.Restart, "restart", "", "the `POLICY` by which it is started again: always, on-failure (default) or never")
	f.BoolVar(&s.Standing, "standing", false, "a standing role: being idle is no fault of it")
	f.StringVar(&s.memory, "memory", "", "cap on its memory, a `SIZE` like 4GiB, where the system lets Custos set one")
	f.StringVar(&s.Heartbeat, "heartbeat", "", "alert people when for this `DURATION` it has not shown that it is at work, like 10m")
	f.StringVar(&s.Grace, "grace", "", "the `DURATION` that it may be later than --heartbeat (default: half of it)")
	f.StringVar(&s.Account, "account", "", "the `ACCOUNT` whose limits it shares")
	f.StringSliceVar(&s.labels, "label", nil, "with --host any: only on a host that has this `LABEL` in [hub]; more of them behind commas")
	f.StringSliceVar(&s.Env, "env", nil, "`NAMES` of variables of the daemon's environment to hand on")
}

// request makes paths absolute: the daemon works elsewhere. Those of another machine have to be.
func (s *spawnFlags) request(cmd *cobra.Command, argv []string, elsewhere bool) (api.SpawnRequest, error) {
	q := s.SpawnRequest
	q.Argv, q.Files = slices.Clone(argv), api.SplitFiles(s.Files)
	if cmd.Flags().Changed("depth") {
		q.Depth = &s.depth
	}
	if q.Worktree = cmd.Flags().Changed("worktree"); q.Worktree && s.branch != ownBranch {
		q.Branch = s.branch
	}
	switch {
	case elsewhere:
	case !q.Worktree && q.Dir == "":
		q.Here = "."
	case q.Worktree && q.Repo == "":
		q.Repo = repoAbove(".")
	}
	paths := []*string{&q.Dir, &q.Here, &q.Repo, &q.Spec}
	if len(q.Argv) > 0 && strings.HasPrefix(q.Argv[0], ".") && strings.Contains(q.Argv[0], "/") && !q.Worktree {
		paths = append(paths, &q.Argv[0]) // as a shell reads it; in a worktree of its own it is of that
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		if elsewhere && !filepath.IsAbs(*p) {
			return q, usage("cannot spawn on another machine in %q: say the path as it is there, from / on", flat(*p))
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return q, usage("cannot find path %q: %v", flat(*p), err)
		}
		*p = abs
	}
	if s.memory != "" {
		n, err := byteCount(s.memory)
		if err != nil {
			return q, usage("cannot read --memory: %v", err)
		}
		q.MemoryMax = n
	}
	return q, nil
}

// repoAbove finds the folder of the repository that a folder lies in; the folder
// itself when it lies in none, which is then found out by what uses it.
func repoAbove(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for at := abs; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return abs
		}
	}
}

// byteCount reads a size like "512MiB", "4GiB", "4G" or "1000000".
func byteCount(text string) (int64, error) {
	number := strings.TrimRight(text, "KMGTiBkmgtb ")
	unit := strings.ToUpper(strings.TrimSpace(text[len(number):]))
	shift, ok := map[string]uint{"": 0, "B": 0, "K": 10, "KIB": 10, "M": 20, "MIB": 20, "G": 30, "GIB": 30, "T": 40, "TIB": 40}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if size := n * float64(int64(1)<<shift); err == nil && ok && size >= 1 && size < 1<<62 {
		return int64(size), nil
	}
	return 0, fmt.Errorf("%q is no size: want one like 512MiB or 4GiB", flat(text))
}
