package fleet

import "strings"

// pluginPrefix begins the name of the formula, and of the schedule, that a plugin
// is run as. No formula of a file has such a name.
const pluginPrefix = "plugin:"

// QueuePlugins is the queue of the plugins that run one at a time.
const QueuePlugins = "plugins"

// PluginFormula is the name of the formula that a plugin is run as.
func PluginFormula(name string) string { return pluginPrefix + name }

// PluginOf is the plugin that is run as a formula; false for any other formula.
func PluginOf(formula string) (name string, ok bool) { return strings.CutPrefix(formula, pluginPrefix) }

// PluginFacts is a plugin as a fact: what its file says, and how its runs went.
type PluginFacts struct {
	Name     string    `json:"name" help:"its name; that of its folder when it could not be read"`
	Source   string    `json:"source" help:"its plugin.md"`
	Broken   string    `json:"broken,omitempty" help:"why it cannot be run; empty when it can"`
	Disabled string    `json:"disabled,omitempty" help:"why it is not run; empty when it is"`
	Gate     string    `json:"gate,omitempty" help:"cooldown, cron, condition, event or manual"`
	Notify   bool      `json:"notify,omitempty" help:"whether people are notified of each of its failures"`
	Grade    Priority  `json:"grade" help:"the priority of its failures: its severity, else P3"`
	Failures Leaf[int] `json:"failures" help:"how many of its runs failed in a row, up to the newest"`
	Last     RunState  `json:"last,omitempty" help:"the state of its newest run; empty when there was none"`
	Why      string    `json:"why,omitempty" help:"why it failed last, when it did"`
}

// PluginCheck is the command that says whether the gate of a plugin is open.
type PluginCheck struct {
	Formula string // PluginFormula of its name
	Argv    []string
	Dir     string   // raw
	Env     []string // names of variables that it gets
	Timeout Duration
}
