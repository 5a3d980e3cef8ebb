package formula

import (
	"time"
)

// Limits of what is read and of what it may become.
const (
	MaxBytes      = 1 << 20 // of one file; the largest seen in the wild has 60 kB
	maxSteps      = 10_000  // of a rendered formula
	maxIterations = 200     // of one loop
	maxDepth      = 16      // of extends, children and bodies
	maxValue      = 64 << 10
)

// Place is where something was written. Line and Column count from 1, Column
// in bytes; 0 is unknown.
type Place struct {
	File   string
	Line   int
	Column int
}

// Places says where each key of a table was written; "" is the table itself.
type Places map[string]Place

// of returns the place of a key, or of its table.
func (p Places) of(key string) Place {
	if at, ok := p[key]; ok {
		return at
	}
	return p[""]
}

// Type says what a formula is.
type Type string

// The types of formula.
const (
	workflow  Type = "workflow"  // steps with needs
	convoy    Type = "convoy"    // legs side by side, and a synthesis of what they found
	expansion Type = "expansion" // a template that takes the place of a step of another formula
	aspect    Type = "aspect"    // steps put before, after and around steps of another formula
)

// Mode says where the prose of a formula is worked on.
type Mode string

// The modes: one agent session for all of it, the same without a terminal, or
// an agent for each step.
const (
	Session  Mode = "session"
	Headless Mode = "headless"
	Steps    Mode = "steps"
)

// Formula is a workflow as it was written, or, after Render, as it is run.
type Formula struct {
	Name        string   `toml:"name|formula"`
	File        string   // as it is named in problems
	Description string   `toml:"description"`
	Type        Type     `toml:"type"`
	Version     string   `toml:"version"`
	Extends     []string `toml:"extends"`

	Vars      []Var    `toml:"vars" json:",omitempty"`
	Inputs    []Var    `toml:"inputs" json:",omitempty"` // variables of a convoy
	Steps     []Step   `toml:"steps" json:",omitempty"`
	Template  []Step   `toml:"template" json:",omitempty"` // of an expansion
	Legs      []Leg    `toml:"legs" json:",omitempty"`
	Aspects   []Leg    `toml:"aspects" json:",omitempty"`
	Presets   []Preset `toml:"presets" json:",omitempty"`
	Prompts   []Named  `toml:"prompts" json:",omitempty"` // base: told to every leg
	Output    *Output  `toml:"output" json:",omitempty"`
	Synthesis *Leg     `toml:"synthesis" json:",omitempty"`
	Compose   *Compose `toml:"compose" json:",omitempty"`
	Advice    []Advice `toml:"advice" json:",omitempty"`
	Pointcuts []Cut    `toml:"pointcuts" json:",omitempty"`

	Context       Context       `toml:"context"`         // files that are put before the prompt
	Model         string        `toml:"model"`           // for the agent CLI
	Agent         string        `toml:"agent"`           // kind of agent CLI
	Project       string        `toml:"project"`         //
	Mode          Mode          `toml:"mode"`            // default session
	Schedules     []Schedule    `toml:"schedule"`        //
	SingleFlight  bool          `toml:"single_flight"`   // default true: never two runs for one project
	Lock          string        `toml:"lock"`            // a pid lock of another program; a live holder: skip
	MemoryGuard   int           `toml:"memory_guard"`    // MB that must be free to launch a model; default 2000
	SessionTime   time.Duration `toml:"session_timeout"` // wall time of an agent session; default 7200 s
	Worktree      bool          `toml:"worktree"`        // a detached worktree for the run
	Parallel      int           `toml:"parallel"`        // steps side by side at most; default 4
	TimeoutLegacy int           `toml:"timeout_minutes" json:"-"`

	// Values are those of the variables, after Render; nil before.
	Values map[string]string `json:",omitempty"`

	Places Places `json:"-"`
	// texts says where the text of a string begins, by the path of its key.
	problems []Problem
}

// Step is one piece of work: a command (Run), a built-in (Uses), or prose.
type Step struct {
	ID          string   `toml:"id"`
	Title       string   `toml:"title"`
	Description string   `toml:"description"`
	Acceptance  string   `toml:"acceptance" json:",omitempty"`
	Notes       string   `toml:"notes" json:",omitempty"`
	Needs       []string `toml:"needs|depends_on" json:",omitempty"`

	Run     *Run              `toml:"run" json:",omitempty"`
	Uses    string            `toml:"uses" json:",omitempty"`
	With    map[string]string `toml:"with" json:",omitempty"`
	Timeout time.Duration     `toml:"timeout" json:",omitempty"` // 0: the engine's
	Retries int               `toml:"retries" json:",omitempty"` // after the first try
	Backoff time.Duration     `toml:"backoff" json:",omitempty"` // before the first retry; doubled each time
	Repeat  Repeat            `toml:"repeat" json:",omitempty"`
	Env     []string          `toml:"env" json:",omitempty"` // names passed on from Custos's own environment
	Dir     string            `toml:"dir" json:",omitempty"`

	WaitsFor   Waits             `toml:"waits_for" json:",omitempty"`
	Gate       *Gate             `toml:"gate" json:",omitempty"`
	Condition  string            `toml:"condition" json:",omitempty"`
	Loop       *Loop             `toml:"loop" json:",omitempty"`
	Children   []Step            `toml:"children" json:",omitempty"`
	OnComplete *OnComplete       `toml:"on_complete" json:",omitempty"`
	Expand     string            `toml:"expand" json:",omitempty"`
	ExpandVars map[string]string `toml:"expand_vars" json:",omitempty"`

	// Values are variables of this step alone (of its loop), beside the formula's.
	Values map[string]string `json:",omitempty"`

	Places Places `json:"-"`
}

// Prose reports whether the step is for an agent.
func (s Step) Prose() bool { return s.Run == nil && s.Uses == "" }

// Safe reports whether the step may be run again when a crash left it unknown
// how far it came.
func (s Step) Safe() bool { return s.Repeat == repeatSafe }

// Repeat says whether a step may be done again after a crash.
type Repeat string

// repeatSafe marks a step whose second run does no harm. Anything else is run
// at most once.
const repeatSafe Repeat = "safe"

// Run is a command: a script for the shell, or a program with its arguments.
type Run struct {
	Script string   `json:",omitempty"`
	Argv   []string `json:",omitempty"`
}

// Waits is Gas Town's waits_for: names of steps, or whose children to wait for.
type Waits struct {
	Steps    []string `json:",omitempty"`
	Children string   `json:",omitempty"` // all-children, any-children
}

// Gate holds a step until something outside has happened.
type Gate struct {
	Type      string        `toml:"type"`                      // timer, event, condition, gh:run, gh:pr, human, mail
	ID        string        `toml:"id" json:",omitempty"`      // what it waits for: an event, a pipeline, a pull request
	Timeout   time.Duration `toml:"timeout" json:",omitempty"` // how long a timer waits, after which another gate is overdue
	Condition string        `toml:"condition" json:",omitempty"`
	From      string        `toml:"from" json:",omitempty"`    // mail: who writes it
	To        string        `toml:"to" json:",omitempty"`      // mail: to whom
	Subject   string        `toml:"subject" json:",omitempty"` // mail: what its subject begins with
	Places    Places        `json:"-"`
}

// Loop repeats a body: Count times, over Range ("1..3", both ends included),
// or, for an agent, until a condition it judges itself.
type Loop struct {
	Count  int    `toml:"count" json:",omitempty"`
	Range  string `toml:"range" json:",omitempty"`
	Var    string `toml:"var" json:",omitempty"`
	Until  string `toml:"until" json:",omitempty"`
	Max    int    `toml:"max" json:",omitempty"`
	Body   []Step `toml:"body" json:",omitempty"`
	Places Places `json:"-"`
}

// OnComplete is work for each thing a step brought out; only an agent can know
// these, so it is told.
type OnComplete struct {
	ForEach    string            `toml:"for_each"`
	Bond       string            `toml:"bond"`
	Vars       map[string]string `toml:"vars" json:",omitempty"`
	Parallel   bool              `toml:"parallel" json:",omitempty"`
	Sequential bool              `toml:"sequential" json:",omitempty"`
	Places     Places            `json:"-"`
}

// Var is a variable. Without a default it is empty unless it is required.
type Var struct {
	Name           string   `toml:"-"`
	Description    string   `toml:"description" json:",omitempty"`
	Default        *string  `toml:"default" json:",omitempty"`
	Required       bool     `toml:"required" json:",omitempty"`
	RequiredUnless []string `toml:"required_unless" json:",omitempty"`
	Enum           []string `toml:"enum" json:",omitempty"`
	Pattern        string   `toml:"pattern" json:",omitempty"` // RE2; must match the whole value
	Type           string   `toml:"type" json:",omitempty"`    // string, int, number, bool; others are text
	Places         Places   `json:"-"`
}

// Leg is one of the agents of a convoy.
type Leg struct {
	ID          string   `toml:"id"`
	Title       string   `toml:"title"`
	Focus       string   `toml:"focus" json:",omitempty"`
	Description string   `toml:"description"`
	Needs       []string `toml:"needs|depends_on" json:",omitempty"`
	Places      Places   `json:"-"`
}

// Preset chooses some of the legs, by the variable "preset".
type Preset struct {
	Name        string   `toml:"-"`
	Description string   `toml:"description"`
	Legs        []string `toml:"legs"`
	Places      Places   `json:"-"`
}

// Named is a named text.
type Named struct {
	Name  string
	Value string
}

// Output says where the legs of a convoy write.
type Output struct {
	Directory  string `toml:"directory"`
	LegPattern string `toml:"leg_pattern"`
	Synthesis  string `toml:"synthesis"`
	Places     Places `json:"-"`
}

// Compose builds a formula from others.
type Compose struct {
	Expand  []Expand `toml:"expand"`
	Map     []Expand `toml:"map"`
	Aspects []string `toml:"aspects"`
	Branch  []Branch `toml:"branch"`
	Gate    []Before `toml:"gate"`
	Places  Places   `json:"-"`
}

// Expand puts the template of formula With in the place of the step Target, or
// of every step whose id matches Select.
type Expand struct {
	Target string            `toml:"target"`
	Select string            `toml:"select"`
	With   string            `toml:"with"`
	Vars   map[string]string `toml:"vars"`
	Places Places            `json:"-"`
}

// Branch lets Steps follow From side by side, and Join wait for all of them.
type Branch struct {
	From   string   `toml:"from"`
	Steps  []string `toml:"steps"`
	Join   string   `toml:"join"`
	Places Places   `json:"-"`
}

// Before holds a step by a condition.
type Before struct {
	Before    string `toml:"before"`
	Condition string `toml:"condition"`
	Places    Places `json:"-"`
}

// Advice puts steps before, after or around every step whose id matches Target.
type Advice struct {
	Target string  `toml:"target"`
	Before *Step   `toml:"before"`
	After  *Step   `toml:"after"`
	Around *Around `toml:"around"`
	Places Places  `json:"-"`
}

// Around holds what is put before and after a step.
type Around struct {
	Before []Step `toml:"before"`
	After  []Step `toml:"after"`
	Places Places `json:"-"`
}

// Cut narrows what the advice of an aspect applies to.
type Cut struct {
	Glob   string `toml:"glob"`
	Places Places `json:"-"`
}

// Context is what is put before the prompt of an agent.
type Context struct {
	Files  []string `toml:"files" json:",omitempty"`
	Run    []string `toml:"run" json:",omitempty"` // what is looked at when the prompt is written: Looks
	Places Places   `json:"-"`
}

// Schedule says when a formula runs by itself: exactly one of Every, Cron, On
// and When.
type Schedule struct {
	Every   time.Duration `toml:"every" json:",omitempty"`
	Cron    string        `toml:"cron" json:",omitempty"`
	On      string        `toml:"on" json:",omitempty"`       // an event
	When    string        `toml:"when" json:",omitempty"`     // CEL
	Jitter  time.Duration `toml:"jitter" json:",omitempty"`   // at most so much later
	CatchUp bool          `toml:"catch_up" json:",omitempty"` // a run that was missed is done once; default true
	Hosts   string        `toml:"hosts" json:",omitempty"`    // each or one of those that share a hub; "": each
	Places  Places        `json:"-"`
}
