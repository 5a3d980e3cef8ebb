package fleet

import "time"

// CacheUnused is how long no build has used what may go of a build cache: who
// builds each day keeps what is warm.
const CacheUnused = 24 * time.Hour

// Engine is a container engine and what it keeps.
type Engine struct {
	Version    string      `json:"version,omitempty" help:"of the engine"`
	Address    string      `json:"address,omitempty" help:"of its socket"`
	Root       string      `json:"root,omitempty" help:"the folder it keeps images and containers in, as it says itself"`
	Exposed    Leaf[bool]  `json:"exposed" help:"whether Custos is in a container, and the engine itself answers at its socket there, and not custos engine-proxy: as good as root on its machine"`
	Dangling   Leaf[int64] `json:"dangling" help:"bytes of images that nothing names or uses; what they share with others is counted where the engine does not separate it" unit:"bytes"`
	BuildCache Leaf[int64] `json:"build_cache" help:"bytes of build cache that no build has used for a day" unit:"bytes"`
	Containers []Container `json:"containers" help:"its containers"`
}

// Container is one container of the engine.
type Container struct {
	ID       string         `json:"id" help:"64 hexadecimal digits; empty when it is missing"`
	Name     string         `json:"name" help:"its name, without the slash"`
	Image    string         `json:"image" help:"what it was made of"`
	Owner    Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	Project  string         `json:"project,omitempty" help:"of compose"`
	Service  string         `json:"service,omitempty" help:"of compose"`
	Wanted   bool           `json:"wanted" help:"whether it is to run: its restart policy or custos.toml says so"`
	Run      string         `json:"run" help:"when this run of it began, as the engine writes it: another run has another"`
	State    Leaf[string]   `json:"state" help:"created, running, paused, restarting, removing, exited, dead, or missing: custos.toml wants it and there is none"`
	Since    Leaf[Duration] `json:"since" help:"time since that state began"`
	Health   Leaf[string]   `json:"health" help:"none, starting, healthy or unhealthy; none while it does not run"`
	Said     string         `json:"said" help:"the last words of its health check while it is not healthy; secrets redacted"`
	Error    string         `json:"error,omitempty" help:"why the engine could not start it; secrets redacted"`
	Exit     Leaf[int]      `json:"exit" help:"exit status of its last run; 0 while it runs"`
	OOM      Leaf[bool]     `json:"oom" help:"whether the kernel ended the last run that is over for want of memory"`
	Restarts Leaf[int]      `json:"restarts" help:"by the engine, since a person or a program last started it"`
	Lately   Leaf[int]      `json:"lately" help:"restarts in the last ten minutes"`
	Memory   Leaf[int64]    `json:"memory" help:"bytes in use" unit:"bytes"`
	Limit    Leaf[int64]    `json:"limit" help:"bytes allowed; 0 for no limit" unit:"bytes"`
	CPU      Leaf[float64]  `json:"cpu" help:"percent of one core" unit:"percent"`
}
