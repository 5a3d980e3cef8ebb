package rules

import (
	"cmp"
	"reflect"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

// vocabulary returns every type a rule can read, in the order they are documented. Each
// field of them that has a tag `help` is a word: its name is the one it has in JSON,
// its type, and how it is read, follow from its Go type. So a fact is declared once, where it is.
//
//	help    what it says, for people: docs/rules.md, and `custos schema`
//	unit    bytes or percent: how people are shown a number
//	unless  a text that is this word, or empty, is not known; the thing's Why, where it has one, says why
//	unread  why a field is no word
func vocabulary() []*structure {
	all := []*structure{
		structureOf[fleet.Host]("host", "The machine Custos runs on."),
		structureOf[fleet.Memory]("memory", "Main memory."),
		structureOf[fleet.Swap]("swap", "Swap space."),
		structureOf[fleet.Load]("load", "Load averages."),
		structureOf[fleet.Pressure]("pressure", "Percent of the last ten seconds in which something waited (PSI, some avg10)."),
		structureOf[fleet.Mount]("mount", "One file system."),
		structureOf[fleet.Agent]("agent", "One run of an agent CLI, no matter who started it; or an agent that is registered, and does not run."),
		structureOf[fleet.Signal]("signal", "One piece of evidence about an agent."),
		structureOf[fleet.ToolCall]("tool", "A tool that an agent has begun and not ended."),
		structureOf[fleet.Dialog]("dialog", "A question an agent shows in its terminal. All its words were written by a program: good for a message, never for an action."),
		structureOf[fleet.Choice]("choice", "One way to answer a dialog."),
		structureOf[fleet.Exit]("exit", "How an instance of an agent ended."),
		structureOf[fleet.Denied]("denied", "Calls of an agent that its policy denied."),
		structureOf[fleet.Pane]("session", "One place where a program can be seen running: a tmux pane."),
		structureOf[fleet.PaneID]("pane_id", "The identity of one pane."),
		structureOf[fleet.ProcessID]("process", "The identity of one process."),
		structureOf[fleet.Repo]("repo", "One git repository, seen through its main worktree."),
		structureOf[fleet.Worktree]("worktree", "One linked git worktree."),
		structureOf[fleet.Peer]("peer", "Another host of the hub, as it tells of itself; only that host has them which looks after the others."),
		structureOf[fleet.HubNode]("node", "One of several servers of the hub; only that host has them which looks after the others."),
		structureOf[fleet.PoolFacts]("pool", "A pool of which one host starts the workers of all; only that host has it."),
		structureOf[fleet.Asked]("order", "An order of a person at another host of the hub that waits for a person here."),
		structureOf[fleet.Overlap]("overlap", "What the agents of two worktrees of one repository both change, before either has brought it in."),
		structureOf[fleet.Bulk]("bulk", "One folder of build output."),
		structureOf[fleet.Lock]("lock", "One pid lock file."),
		structureOf[fleet.Phase]("phase", "One phase file of a session."),
		structureOf[fleet.Log]("log", "One log file."),
		structureOf[fleet.FileID]("file", "The identity of one file."),
		structureOf[fleet.RunFacts]("run", "One run of a formula: those that are open, and those that ended within a day."),
		structureOf[fleet.Phrase]("phrase", "What an agent of a run wrote into its phase file."),
		structureOf[fleet.StepFacts]("step", "One attempt at a step of a run that is a command."),
		structureOf[fleet.TestReport]("tests", "What the report of a step says of the tests it ran."),
		structureOf[fleet.Engine]("engine", "The container engine."),
		structureOf[fleet.Container]("container", "One container."),
		structureOf[fleet.Project]("project", "One project on a forge."),
		structureOf[fleet.Issue]("issue", "One issue: those that are open, and those closed lately."),
		structureOf[fleet.PullRequest]("pr", "One open pull request."),
		structureOf[fleet.Pipeline]("pipeline", "One pipeline, or one run of a workflow."),
		structureOf[fleet.Worker]("worker", "One worker of a CI system."),
		structureOf[fleet.VaultItem]("vault", "One item of a vault: what waits for a person's word or to be dispatched, and what was dispatched or rejected within a week."),
		structureOf[fleet.WorkFacts]("work", "One piece of work of the ledger that is not closed, or work of another tracker that waits for something."),
		structureOf[fleet.GateFacts]("gate", "One gate that is open, or was closed within a day."),
		structureOf[fleet.ConvoyFacts]("convoy", "One convoy that is open, or was done within a day."),
		structureOf[fleet.MailFacts]("mail", "One mail that a reader has not read yet, or that waits for an answer."),
		structureOf[fleet.MergeFacts]("merge", "One item of a merge queue that is not over, or was over within a day; or a queue that is held."),
		structureOf[fleet.BudgetFacts]("budget", "One allowance of a budget of what models cost, and how much of it is used."),
		structureOf[fleet.Self]("self", "Custos itself."),
		structureOf[fleet.Receiver]("receiver", "One notifier: a person, or a place, that notifications are sent to."),
		structureOf[fleet.Landmark]("landmark", "One folder, file or socket of Custos itself, or settings of an agent CLI with hooks of its own."),
		structureOf[Part]("part", "One part of the snapshot, and how it was seen."),
		structureOf[fleet.Extra]("extra", "One fact of a probe of your own: numbers and texts under a name. A name it did not report is not known."),
		structureOf[fleet.PluginFacts]("plugin", "One plugin: a folder with a plugin.md."),
		structureOf[fleet.CodeFacts]("code", "One folder of formulas and plugins in a repository, where agents may write: what its primary branch has, and what of that may be run."),
	}
	names := typeNames{}
	for _, s := range all {
		names[s.of] = s.name
	}
	for _, s := range all {
		s.learn(names)
	}
	return all
}

// Part is one part of the snapshot as a subject of rules: its name and how it
// was seen. A part is always known: being blind is a fact about it.
type Part struct {
	Name fleet.PartName `json:"name" help:"host, processes, sessions, agents, repos, locks, phases, logs, self, extra or runs"`
	fleet.Sight
}

// unit says how a number is shown to people.
type unit string

const (
	plain   unit = ""
	bytes   unit = "bytes"
	percent unit = "percent"
)

// field is one word of the vocabulary: how it is named, typed and read.
type field struct {
	name string // as in the JSON of fleet
	typ  *types.Type
	unit unit
	doc  string
	get  func(any) ref.Val
}

// structure is one type a rule can read. Its name is the word rules use for one
// such thing; the type of CEL has the same name.
type structure struct {
	name   string
	doc    string
	of     reflect.Type
	typ    *types.Type
	order  []string
	fields map[string]*field
}

func structureOf[T any](name, doc string) *structure {
	return &structure{name: name, doc: doc, of: reflect.TypeFor[T](), typ: objectType(name), fields: map[string]*field{}}
}

// learn adds the words that the fields of its type are, in their order, and those that
// are computed.
func (s *structure) learn(n typeNames) {
	for _, f := range reflect.VisibleFields(s.of) {
		if help := f.Tag.Get("help"); help != "" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			r := n.reading(f.Type, f.Tag.Get("unless"))
			s.add(&field{name, r.typ, unit(f.Tag.Get("unit")), help, s.getter(name, f.Index, r)})
		}
	}
	for _, f := range computed()[s.name] {
		s.add(f)
	}
}

func (s *structure) add(f *field) {
	s.order = append(s.order, f.name)
	s.fields[f.name] = f
}

// getter reads the field of an index of a thing. What was not seen becomes CEL's unknown,
// by the name of the word.
func (s *structure) getter(name string, index []int, r reading) func(any) ref.Val {
	what := s.name + "." + name
	says, hasWhy := s.of.FieldByName("Why")
	return func(o any) ref.Val {
		thing := reflect.ValueOf(o).Elem()
		v := r.turn(thing.FieldByIndex(index))
		l, lacking := v.(lack)
		if !lacking {
			return v
		}
		if l.why == "" && hasWhy {
			l.why = thing.FieldByIndex(says.Index).String()
		}
		return unseen(what, cmp.Or(l.why, "it could not be seen"))
	}
}

// computed are the words that are no field, by structure.
func computed() map[string][]*field {
	return map[string][]*field{
		"exit": {{name: "ender", typ: types.StringType, doc: "who ended it: person, machinery or unknown", get: func(o any) ref.Val {
			return types.String(o.(*fleet.Exit).Ender())
		}}},
	}
}

// typeName keeps our types out of the way of variables of the same name.
func typeName(name string) string { return "custos." + name }

func objectType(name string) *types.Type { return types.NewObjectType(typeName(name)) }

// lack is what is read of a value that was not seen, and why.
type lack struct {
	ref.Val
	why string
}

func unseen(what, why string) ref.Val {
	return types.NewUnknown(0, types.NewAttributeTrail(what+" is not known: "+why))
}
