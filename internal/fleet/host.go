package fleet

// Host is the machine Custos runs on.
type Host struct {
	Name      string         `json:"name" help:"its name"`
	CPUs      int            `json:"cpus" help:"how many processors it has"`
	Memory    Memory         `json:"memory" help:"main memory"`
	Swap      Swap           `json:"swap" help:"swap space"`
	Load      Load           `json:"load" help:"the load averages"`
	Pressure  Pressure       `json:"pressure" help:"time lost to waiting, from the kernel"`
	OOMKills  Leaf[int64]    `json:"oom_kills" help:"processes the kernel killed for lack of memory since boot, from /proc/vmstat"`
	OOMRecent Leaf[int64]    `json:"oom_recent" help:"the same, since the previous look"`
	ClockJump Leaf[Duration] `json:"clock_jump" help:"how far the wall clock jumped against the boot clock since the previous look"`
	Uptime    Leaf[Duration] `json:"uptime" help:"time since boot"`
	Mounts    []Mount        `json:"mounts" help:"its file systems"`
}

// Memory is in bytes.
type Memory struct {
	Total     Leaf[int64] `json:"total" help:"bytes there are" unit:"bytes"`
	Available Leaf[int64] `json:"available" help:"bytes a new program could still have" unit:"bytes"`
}

// Swap is in bytes.
type Swap struct {
	Total Leaf[int64] `json:"total" help:"bytes there are" unit:"bytes"`
	Used  Leaf[int64] `json:"used" help:"bytes in use" unit:"bytes"`
}

// Load is the load average.
type Load struct {
	One     Leaf[float64] `json:"one" help:"over one minute"`
	Five    Leaf[float64] `json:"five" help:"over five minutes"`
	Fifteen Leaf[float64] `json:"fifteen" help:"over fifteen minutes"`
}

// Pressure is PSI "some avg10", in percent.
type Pressure struct {
	CPU    Leaf[float64] `json:"cpu" help:"for a processor" unit:"percent"`
	Memory Leaf[float64] `json:"memory" help:"for memory" unit:"percent"`
	IO     Leaf[float64] `json:"io" help:"for a disk" unit:"percent"`
}

// Mount is one file system. A mount that does not answer has unknown figures.
type Mount struct {
	Path          string         `json:"path" help:"where it is mounted"`
	Device        string         `json:"device" help:"what is mounted"`
	Type          string         `json:"type" help:"its type: ext4, xfs, …"`
	Total         Leaf[int64]    `json:"total" help:"bytes it holds" unit:"bytes"`
	Available     Leaf[int64]    `json:"available" help:"bytes an ordinary user can still write" unit:"bytes"`
	UsedPercent   Leaf[float64]  `json:"used_percent" help:"percent used, as df prints it" unit:"percent"`
	InodesPercent Leaf[float64]  `json:"inodes_percent" help:"percent of inodes used; 0 where there are none" unit:"percent"`
	TimeToFull    Leaf[Duration] `json:"time_to_full" help:"when it will be full at the present rate; not known until two looks differ"`
}

// Process is one row of the process table.
type Process struct {
	ID      ProcessID     `json:"id"`
	PPID    int           `json:"ppid"`
	PGID    int           `json:"pgid"`
	SID     int           `json:"sid"`
	TTY     string        `json:"tty,omitempty"`
	UID     int           `json:"uid"`
	State   string        `json:"state"` // R, S, D, Z, T …
	Name    string        `json:"name"`  // comm
	Exe     Leaf[string]  `json:"exe"`
	Args    []string      `json:"args,omitempty"` // secrets redacted
	CWD     Leaf[string]  `json:"cwd"`
	Age     Duration      `json:"age"`
	CPU     Leaf[float64] `json:"cpu"` // percent of one core since the previous look
	CPUTime Duration      `json:"cpu_time"`
	RSS     int64         `json:"rss"` // bytes
	Cgroup  string        `json:"cgroup,omitempty"`
}

// ProcessID names one process for as long as the machine is up: a pid alone is
// reused, with its start time it is not.
type ProcessID struct {
	PID   int    `json:"pid" help:"its number"`
	Start uint64 `json:"start" help:"when it began, in clock ticks since boot: /proc/PID/stat, field 22"`
	Boot  string `json:"boot,omitempty" help:"in which boot"`
}
