package enginetest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

func (f *Fake) list(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []map[string]any{}
	for _, c := range f.containers {
		out = append(out, map[string]any{"Id": c.ID, "Names": []string{"/" + c.Name}, "Image": c.Image, "ImageID": c.ImageID,
			"State": c.State, "Labels": c.Labels, "Created": c.Created.Unix()})
	}
	write(w, out)
}

// with finds the container that is asked for.
func (f *Fake) with(do func(http.ResponseWriter, *Container)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		i := slices.IndexFunc(f.containers, func(c Container) bool { return c.ID == r.PathValue("id") })
		if i < 0 {
			refuse(w, http.StatusNotFound, "No such container: "+r.PathValue("id"))
			return
		}
		do(w, &f.containers[i])
	}
}

// stamp writes a moment as the engine does, and none as the year 1.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (f *Fake) inspect(w http.ResponseWriter, c *Container) {
	state := map[string]any{"Status": c.State, "StartedAt": stamp(c.Started), "FinishedAt": stamp(c.Finished),
		"ExitCode": c.Exit, "OOMKilled": c.OOM, "Error": c.Error}
	if c.Health != "" {
		state["Health"] = map[string]any{"Status": c.Health, "Log": []map[string]any{{"Output": "an older word"}, {"Output": c.Said}}}
	}
	write(w, map[string]any{"Id": c.ID, "Name": "/" + c.Name, "Image": c.ImageID, "Created": stamp(c.Created), "State": state,
		"RestartCount": c.Restarts, "Config": map[string]any{"Image": c.Image, "Labels": c.Labels},
		"HostConfig": map[string]any{"Memory": c.Limit, "RestartPolicy": map[string]any{"Name": c.Policy, "MaximumRetryCount": c.Retries}}})
}

func (f *Fake) stats(w http.ResponseWriter, c *Container) {
	write(w, map[string]any{"read": stamp(f.Clock()), "cpu_stats": map[string]any{"cpu_usage": map[string]any{"total_usage": int64(c.CPU)}},
		"memory_stats": map[string]any{"usage": c.Memory, "stats": map[string]int64{"inactive_file": c.Memory / 4}}})
}

func (f *Fake) restart(w http.ResponseWriter, r *http.Request) {
	f.with(func(w http.ResponseWriter, c *Container) {
		f.onRestart(c)
		w.WriteHeader(http.StatusNoContent)
	})(w, r)
}

func (f *Fake) listImages(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Query().Get("filters"), "dangling") {
		refuse(w, http.StatusNotImplemented, "the fake lists only images that nothing names")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []map[string]any{}
	for _, i := range f.images {
		out = append(out, map[string]any{"Id": i.ID, "Size": i.Size, "SharedSize": i.Shared, "Containers": -1})
	}
	write(w, out)
}

func (f *Fake) prune(w http.ResponseWriter, r *http.Request) {
	if got := r.URL.Query().Get("filters"); got != `{"dangling":{"true":true}}` {
		refuse(w, http.StatusNotImplemented, "the fake prunes only images that nothing names, not "+got)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var freed int64
	deleted := []map[string]string{}
	f.images = slices.DeleteFunc(f.images, func(i Image) bool {
		if slices.ContainsFunc(f.containers, func(c Container) bool { return c.ImageID == i.ID }) {
			return false
		}
		freed += i.Size - max(i.Shared, 0)
		deleted = append(deleted, map[string]string{"Deleted": i.ID})
		return true
	})
	write(w, map[string]any{"ImagesDeleted": deleted, "SpaceReclaimed": freed})
}

// events streams what Tell says, from now on.
func (f *Fake) events(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	next, news := len(f.said), f.news
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-news:
		}
		f.mu.Lock()
		say := slices.Clone(f.said[next:])
		next, news = len(f.said), f.news
		f.mu.Unlock()
		for _, s := range say {
			if _, err := w.Write([]byte(s + "\n")); err != nil {
				return
			}
		}
		_ = http.NewResponseController(w).Flush()
	}
}
