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
	Name     string    `json:"name"`   // of its folder, when it could not be read
	Source   string    `json:"source"` // its plugin.md
	Broken   string    `json:"broken,omitempty"`
	Disabled string    `json:"disabled,omitempty"` // why it is not run
	Gate     string    `json:"gate,omitempty"`     // cooldown, cron, condition, event or manual
	Notify   bool      `json:"notify,omitempty"`   // each failure is to be told
	Grade    Priority  `json:"grade"`              // of its failures
	Failures Leaf[int] `json:"failures"`           // runs in a row that failed, up to the newest
	Last     RunState  `json:"last,omitempty"`     // of its newest run; "" when there was none
	Why      string    `json:"why,omitempty"`      // why it failed last, when it did
}

// PluginCheck is the command that tells whether the gate of a plugin is open.
type PluginCheck struct {
	Formula string // PluginFormula of its name
	Argv    []string
	Dir     string   // raw
	Env     []string // names of variables that it gets
	Timeout Duration
}
