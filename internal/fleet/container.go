package fleet

import "time"

// CacheUnused is how long no build has used what may go of a build cache: whoever
// builds each day keeps what is warm.
const CacheUnused = 24 * time.Hour

// Engine is a container engine and what it keeps.
type Engine struct {
	Version    string      `json:"version,omitempty"`
	Address    string      `json:"address,omitempty"` // of its socket, for people
	Root       string      `json:"root,omitempty"`    // the folder it keeps images and containers in, as it says itself
	Dangling   Leaf[int64] `json:"dangling"`          // bytes of images that nothing names or uses; what they share with others is counted where the engine does not tell it apart
	BuildCache Leaf[int64] `json:"build_cache"`       // bytes of build cache that no build has used for CacheUnused
	Containers []Container `json:"containers"`
}

// Container is one container of the engine.
type Container struct {
	ID       string         `json:"id"`   // 64 hexadecimal digits; empty when it is missing
	Name     string         `json:"name"` // stable; without the slash
	Image    string         `json:"image"`
	Owner    Owner          `json:"owner"`
	Project  string         `json:"project,omitempty"` // of compose
	Service  string         `json:"service,omitempty"`
	Wanted   bool           `json:"wanted"`          // its restart policy, or custos.toml, says that it is to run
	Run      string         `json:"run"`             // when this run of it began, as the engine writes it: another run has another
	State    Leaf[string]   `json:"state"`           // created, running, paused, restarting, removing, exited, dead; missing: custos.toml wants it and there is none
	Since    Leaf[Duration] `json:"since"`           // time since that state began
	Health   Leaf[string]   `json:"health"`          // none, starting, healthy, unhealthy; none while it does not run
	Said     string         `json:"said"`            // the last words of its health check while it is not healthy; secrets redacted
	Error    string         `json:"error,omitempty"` // why the engine could not start it; secrets redacted
	Exit     Leaf[int]      `json:"exit"`            // of the last run; 0 while it runs
	OOM      Leaf[bool]     `json:"oom"`             // the kernel ended the last run that is over for want of memory
	Restarts Leaf[int]      `json:"restarts"`        // by the engine, since somebody last started it
	Lately   Leaf[int]      `json:"lately"`          // of those, in the last ten minutes
	Memory   Leaf[int64]    `json:"memory"`          // bytes in use
	Limit    Leaf[int64]    `json:"limit"`           // bytes allowed; 0 for no limit
	CPU      Leaf[float64]  `json:"cpu"`             // percent of one core
}
