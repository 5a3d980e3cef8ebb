package engineproxy

import "encoding/json"

// fields are the fields of an answer that are shown, each with those inside it. A field
// without any is shown when it is a text, a number, a truth, or a list of those. "*" stands
// for every name. nil shows nothing.
type fields map[string]fields

// every stands for every name of a field.
const every = "*"

// leaves are fields without others inside.
func leaves(names ...string) fields {
	f := fields{}
	for _, n := range names {
		f[n] = fields{}
	}
	return f
}

// with adds fields that have others inside.
func (f fields) with(name string, inside fields) fields {
	f[name] = inside
	return f
}

func versionFields() fields {
	return leaves("Version", "ApiVersion", "MinAPIVersion", "Os", "Arch", "GitCommit", "GoVersion", "BuildTime")
}

func infoFields() fields { return leaves("ServerVersion", "DockerRootDir", "SystemTime") }

// composed are the labels that say to which project of compose a container belongs.
func composed() fields {
	return leaves("com.docker.compose.project", "com.docker.compose.service", "io.podman.compose.project", "io.podman.compose.service")
}

func listFields() fields {
	return leaves("Id", "Names", "Image", "ImageID", "Created", "State", "Status").with("Labels", composed())
}

func inspectFields() fields {
	health := leaves("Status", "FailingStreak").with("Log", leaves("Start", "End", "ExitCode", "Output"))
	state := leaves("Status", "Running", "Paused", "Restarting", "OOMKilled", "Dead", "ExitCode", "Error", "StartedAt", "FinishedAt").with("Health", health)
	host := leaves("Memory").with("RestartPolicy", leaves("Name", "MaximumRetryCount"))
	return leaves("Id", "Created", "Name", "Image", "RestartCount").
		with("State", state).with("HostConfig", host).with("Config", leaves("Image"))
}

func statsFields() fields {
	return leaves("read", "preread").
		with("cpu_stats", leaves("system_cpu_usage", "online_cpus").with("cpu_usage", leaves("total_usage"))).
		with("memory_stats", leaves("usage", "limit").with("stats", leaves(every)))
}

func imageFields() fields { return leaves("Id", "Created", "Size", "SharedSize", "Containers") }

// cacheFields are those of API 1.41 and of 1.52; in the first, the parents have a blank
// before their name.
func cacheFields() fields {
	record := leaves("ID", "Parent", "Parents", " Parents", "Type", "InUse", "Shared", "Size", "CreatedAt", "LastUsedAt", "UsageCount")
	usage := leaves("ActiveCount", "TotalCount", "Reclaimable", "TotalSize").with("Items", record)
	return leaves("BuilderSize").with("BuildCache", record).with("BuildCacheUsage", usage)
}

func prunedFields() fields {
	return leaves("SpaceReclaimed", "CachesDeleted").with("ImagesDeleted", leaves("Untagged", "Deleted"))
}

// eventFields leave out what runs in containers: the action of an exec holds its command
// line, which plainAction cuts.
func eventFields() fields {
	return leaves("status", "id", "from", "Type", "Action", "scope", "time", "timeNano").
		with("Actor", leaves("ID").with("Attributes", leaves("name", "exitCode")))
}

// errorFields are those of every answer that says that it did not work.
func errorFields() fields { return leaves("message") }

// shown is what of a decoded value is shown; ok is false for nothing.
func (f fields) shown(v any) (out any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		return f.shownObject(v)
	case []any:
		return f.shownList(v)
	}
	return v, f != nil && len(f) == 0
}

func (f fields) shownObject(v map[string]any) (any, bool) {
	if len(f) == 0 {
		return nil, false
	}
	out := map[string]any{}
	for name, value := range v {
		inside, known := f[name]
		if !known {
			inside, known = f[every]
		}
		if !known {
			continue
		}
		if value == nil {
			out[name] = nil
			continue
		}
		if part, ok := inside.shown(value); ok {
			out[name] = part
		}
	}
	return out, true
}

func (f fields) shownList(v []any) (any, bool) {
	if f == nil {
		return nil, false
	}
	out := make([]any, 0, len(v))
	for _, each := range v {
		if part, ok := f.shown(each); ok {
			out = append(out, part)
		}
	}
	return out, true
}

// only returns the fields of a JSON text that are shown, as JSON.
func (f fields) only(text []byte) ([]byte, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	part, ok := f.shown(v)
	if !ok {
		part = map[string]any{}
	}
	return json.Marshal(part)
}
