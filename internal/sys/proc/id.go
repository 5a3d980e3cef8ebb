package proc

// ID names one process for as long as the machine is up: a pid is reused, a pid
// with its start time is not.
type ID struct {
	PID   int    // in our own pid namespace
	Start uint64 // clock ticks since boot, field 22 of /proc/PID/stat
}
