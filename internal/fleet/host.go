package fleet

// Host is the machine Custos runs on.
type Host struct {
	Name      string         `json:"name"`
	CPUs      int            `json:"cpus"`
	Memory    Memory         `json:"memory"`
	Swap      Swap           `json:"swap"`
	Load      Load           `json:"load"`
	Pressure  Pressure       `json:"pressure"`
	OOMKills  Leaf[int64]    `json:"oom_kills"`  // since boot, /proc/vmstat
	OOMRecent Leaf[int64]    `json:"oom_recent"` // since the previous look
	ClockJump Leaf[Duration] `json:"clock_jump"` // wall minus boot clock since the previous look
	Uptime    Leaf[Duration] `json:"uptime"`
	Mounts    []Mount        `json:"mounts"`
}

// Memory is in bytes.
type Memory struct {
	Total     Leaf[int64] `json:"total"`
	Available Leaf[int64] `json:"available"`
}

// Swap is in bytes.
type Swap struct {
	Total Leaf[int64] `json:"total"`
	Used  Leaf[int64] `json:"used"`
}

// Load is the load average.
type Load struct {
	One     Leaf[float64] `json:"one"`
	Five    Leaf[float64] `json:"five"`
	Fifteen Leaf[float64] `json:"fifteen"`
}

// Pressure is PSI "some avg10", in percent.
type Pressure struct {
	CPU    Leaf[float64] `json:"cpu"`
	Memory Leaf[float64] `json:"memory"`
	IO     Leaf[float64] `json:"io"`
}

// Mount is one file system. A mount that does not answer has unknown figures.
type Mount struct {
	Path          string         `json:"path"`
	Device        string         `json:"device"`
	Type          string         `json:"type"`
	Total         Leaf[int64]    `json:"total"`          // bytes
	Available     Leaf[int64]    `json:"available"`      // bytes, to an ordinary user
	UsedPercent   Leaf[float64]  `json:"used_percent"`   // as df prints it
	InodesPercent Leaf[float64]  `json:"inodes_percent"` // 0 where the file system has none
	TimeToFull    Leaf[Duration] `json:"time_to_full"`   // unknown until two looks differ
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
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, /proc/PID/stat field 22
	Boot  string `json:"boot,omitempty"`
}
