package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

// pluginTown is a town with plugins, which lie beside its custos.toml.
type pluginTown struct{ *town }

// newPluginTown starts a daemon that finds the plugins when it starts: front
// matter and script of each, by name. Each script may use note, which writes a
// line into the file log of its plugin.
func newPluginTown(t *testing.T, plugins map[string][2]string) pluginTown {
	t.Helper()
	w := pluginTown{newTown(t, "patrol_every = \"1h\"\n")}
	w.kill()
	for name, p := range plugins {
		w.put(name, p[0], p[1])
	}
	w.start()
	return w
}

const noting = "#!/bin/sh\nnote() { echo \"$@\" >> \"$CUSTOS_VAR_plugin_dir/log\"; }\n"

func (w pluginTown) put(name, front, script string) {
	w.Helper()
	dir := w.at(name)
	err := os.MkdirAll(dir, 0o755)
	if err == nil && script != "" {
		err = os.WriteFile(filepath.Join(dir, "run.sh"), []byte(noting+script+"\n"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "plugin.md"), []byte("---\nname: "+name+"\n"+front+"\n---\nText.\n"), 0o644)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// at is the path of a file of a plugin.
func (w pluginTown) at(name string, below ...string) string {
	return filepath.Join(append([]string{w.dir, "plugins", name}, below...)...)
}

// log is the lines that a plugin noted.
func (w pluginTown) log(name string) []string {
	b, _ := os.ReadFile(w.at(name, "log"))
	return strings.FieldsFunc(string(b), func(c rune) bool { return c == '\n' })
}

// noted waits until a plugin has noted so many lines.
func (w pluginTown) noted(name string, n int) []string {
	w.Helper()
	// Those that are run one after the other take their time on a busy machine.
	await(w.T, func() string { return fmt.Sprintf("%s noted %q, want %d\n%s", name, w.log(name), n, w.said) }, func() bool { return len(w.log(name)) >= n })
	return w.log(name)
}

func (w pluginTown) row(name string) api.PluginRow {
	w.Helper()
	list, err := w.client().Plugins(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(list.Plugins, func(r api.PluginRow) bool { return r.Name == name })
	if i < 0 {
		w.Fatalf("there is no plugin %s in %+v", name, list.Plugins)
	}
	return list.Plugins[i]
}

// last waits until the newest run of a plugin is over.
func (w pluginTown) last(name string) (run api.Run) {
	w.Helper()
	c := w.client()
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", run, w.said) }, func() bool {
		runs, err := c.PluginRuns(w.Context(), name, 1)
		if err == nil && len(runs.Runs) == 1 {
			run = runs.Runs[0]
		}
		return run.Over
	})
	return run
}

func gate(lines ...string) string { return "gate:\n  " + strings.Join(lines, "\n  ") }

// A plugin that was just written is listed with what its check says, though the probe of
// checks looks twice a minute only.
func TestANewPluginsCheckIsAskedAtOnce(t *testing.T) {
	check := gate("type: condition", "check: test -e nowhere")
	w := newPluginTown(t, map[string][2]string{"old": {check, "note ran"}})
	const closed = "its condition does not hold"
	await(t, func() string { return w.row("old").WhyNot }, func() bool { return w.row("old").WhyNot == closed })
	w.put("new", check, "note ran")
	var said []string
	await(t, func() string { return fmt.Sprint(said) }, func() bool {
		list, err := w.client().Plugins(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Plugins {
			said = append(said, r.Name+": "+r.WhyNot)
		}
		return len(list.Plugins) == 2
	})
	if got := said[len(said)-2:]; !slices.Equal(got, []string{"new: " + closed, "old: " + closed}) {
		t.Errorf("the first list that has it says %q", got)
	}
}

// A plugin of every gate runs when it opens, and only then.
func TestPluginGates(t *testing.T) {
	w := newPluginTown(t, map[string][2]string{
		"cool":    {gate("type: cooldown", "duration: 1s"), "note $(date +%s%N)"},
		"minute":  {gate("type: cron", "schedule: \"* * * * *\""), "note ran"},
		"check":   {gate("type: condition", "check: test -e flag"), "note ran"},
		"hangs":   {gate("type: condition", "check: [sh, -c, sleep 1000]", "timeout: 1s"), "note ran"},
		"when":    {gate("type: condition", "when: host.cpus > 0"), "note ran"},
		"start":   {gate("type: event", "on: startup"), "note ran"},
		"heart":   {gate("type: event", "on: heartbeat"), "note ran"},
		"log":     {gate("type: event", "on: silence"), "note $CUSTOS_VAR_event $CUSTOS_VAR_event_subject"},
		"hand":    {gate("type: manual"), "note by hand"},
		"off":     {"disabled: true\n" + gate("type: event", "on: startup"), "note ran"},
		"fails":   {gate("type: event", "on: startup") + "\nexecution: {notify_on_failure: true, severity: high}", "exit 3"},
		"nothing": {gate("type: never"), "note ran"},
	})
	marks := w.noted("cool", 3)
	for i := range len(marks) - 1 {
		var a, b int64
		_, _ = fmt.Sscan(marks[i], &a)
		if _, _ = fmt.Sscan(marks[i+1], &b); time.Duration(b-a) < time.Second {
			t.Errorf("cool ran again after %s", time.Duration(b-a))
		}
	}
	for _, name := range []string{"when", "start", "heart"} {
		if got := w.noted(name, 1); len(got) != 1 {
			t.Errorf("%s noted %q", name, got)
		}
	}
	c := w.client()
	if _, err := c.Silence(w.Context(), api.SilenceOrder{Subject: "host/x", For: "1s"}); err != nil {
		t.Fatal(err)
	}
	if got := w.noted("log", 1); got[0] != "silence host/x" {
		t.Errorf("%q", got)
	}
	// While nobody watches something happens: it is seen afterwards, once.
	w.kill()
	if out, err := exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "silence", "host/y", "--for", "1s").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(w.at("check", "flag"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	if got := w.noted("log", 2); got[1] != "silence host/y" {
		t.Errorf("%q", got)
	}
	w.noted("start", 2)
	w.noted("check", 1)
	run, err := w.client().RunPlugin(w.Context(), "hand", api.PluginRunRequest{ID: "x"})
	if err != nil || run.ID != "plugin-hand-x" {
		t.Fatalf("%+v, %v", run, err)
	}
	w.noted("hand", 1)
	if _, err := w.client().RunPlugin(w.Context(), "off", api.PluginRunRequest{}); err == nil || !strings.Contains(err.Error(), "plugin.md:3: it is disabled") {
		t.Error(err)
	}
	for name, want := range map[string]int{"log": 2, "check": 1, "when": 1, "hangs": 0, "off": 0, "nothing": 0} {
		if got := w.log(name); len(got) != want {
			t.Errorf("%s noted %q, want %d", name, got, want)
		}
	}
	if r := w.row("nothing"); !strings.Contains(r.Broken, "nothing/plugin.md:4: gate type \"never\" is unknown") {
		t.Errorf("%+v", r)
	}
	if r := w.row("hangs"); r.Holds != nil || r.WhyNot != "it cannot be told whether its condition holds" {
		t.Errorf("%+v", r)
	}
	w.fires("plugin-failing-high", "plugin/fails")
	w.fires("plugin-broken", "plugin/nothing")
	w.noted("minute", 1)
	w.onTheMinute(w.last("minute"))
}

var slotOfID = regexp.MustCompile(`-(\d{8}T\d{6}Z)-`)

// onTheMinute: a run is of a whole minute, and was not begun before it. How much later
// that was says how busy the machine is.
func (w pluginTown) onTheMinute(run api.Run) {
	w.Helper()
	m := slotOfID.FindStringSubmatch(run.ID)
	if m == nil {
		w.Fatalf("the ID of %+v names no moment", run)
	}
	if slot, err := time.Parse("20060102T150405Z", m[1]); err != nil || slot.Second() != 0 || run.At.Before(slot) {
		w.Errorf("the one that is due each minute was due at %v (%v), and begun at %v", slot, err, run.At)
	}
}

// fires waits for an alert.
func (w pluginTown) fires(rule, subject string) {
	w.Helper()
	c := w.client()
	var seen api.Alerts
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", seen, w.said) }, func() bool {
		seen, _ = c.Alerts(w.Context(), false)
		return slices.ContainsFunc(seen.Alerts, func(a api.Alert) bool { return a.Rule == rule && a.Subject == subject })
	})
}

// One that ignores TERM is ended with all it began; a gigabyte of output is capped;
// one that changes its own gate is run by the new one from the next reading on.
func TestPluginMischief(t *testing.T) {
	stubborn := "trap '' TERM INT HUP\nsleep 1000 &\nnote $$ $!\nwhile :; do sleep 1000 & wait; done"
	w := newPluginTown(t, map[string][2]string{
		"stubborn": {gate("type: manual") + "\nparallel: true\nexecution: {timeout: 1s}", stubborn},
		"flood":    {gate("type: manual"), "head -c 1073741824 /dev/zero | tr '\\0' x\nnote done"},
		"shifty":   {gate("type: cooldown", "duration: 7d"), "note $(sed -i 's/cooldown/manual/; /duration/d' \"$CUSTOS_VAR_plugin_dir/plugin.md\")ran"},
	})
	c := w.client()
	for _, name := range []string{"stubborn", "flood"} {
		if _, err := c.RunPlugin(w.Context(), name, api.PluginRunRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if run := w.last("stubborn"); run.State != "failed" || !strings.Contains(run.Why, "took longer than 1s") {
		t.Errorf("%+v", run)
	}
	for _, pid := range strings.Fields(w.noted("stubborn", 1)[0]) {
		await(t, func() string { return "process " + pid + " of it lives" }, func() bool {
			_, err := os.Stat("/proc/" + pid)
			return err != nil
		})
	}
	run := w.last("flood")
	info, err := os.Stat(run.Steps[0].Output)
	if err != nil || info.Size() > 5<<20 || run.State != "done" || len(w.log("flood")) != 1 {
		t.Errorf("%+v: %v, %v", run, info, err)
	}
	if w.noted("shifty", 1); w.last("shifty").State != "done" {
		t.Error("shifty went wrong")
	}
	var r api.PluginRow
	await(t, func() string { return fmt.Sprintf("%+v", r) }, func() bool { r = w.row("shifty"); return r.Gate == "manual" })
	if !r.Changed || r.LastState != "done" {
		t.Errorf("%+v", r)
	}
}

// Custos is killed while a plugin runs: the plugin goes on to its end, which is
// known to the next Custos, and it is not begun again.
func TestPluginOutlivesCustos(t *testing.T) {
	w := newPluginTown(t, map[string][2]string{"slow": {gate("type: cooldown", "duration: 1d"), "note begun\nsleep 2\nnote done"},
		"next": {gate("type: manual"), "note ran"}})
	w.noted("slow", 1)
	w.kill()
	w.start()
	if _, err := w.client().RunPlugin(w.Context(), "slow", api.PluginRunRequest{}); err == nil || !strings.Contains(err.Error(), "its place is taken") {
		t.Errorf("a second one beside it: %v", err)
	}
	if run := w.last("slow"); run.State != "done" || fmt.Sprint(w.log("slow")) != "[begun done]" {
		t.Errorf("%+v, %q", run, w.log("slow"))
	}
}

// TestPluginsKilledAtRandom is line 3 of the issue: plugins of every gate type, and
// Custos killed again and again. Of none two run at once, of the sequential ones
// only one does, each that begins comes to its end, and all go on to be run.
func TestPluginsKilledAtRandom(t *testing.T) {
	long := os.Getenv("CUSTOS_TOWN") != ""
	work := "note begin\necho \"begin $CUSTOS_VAR_plugin\" >> ../all\nsleep 0.$(( $$ % 9 ))\necho \"end $CUSTOS_VAR_plugin\" >> ../all\nnote end"
	plugins := map[string][2]string{
		"a-cool": {gate("type: cooldown", "duration: 1s"), work}, "b-cool": {gate("type: cooldown", "duration: 1s"), work},
		"c-start": {gate("type: event", "on: startup"), work}, "d-heart": {gate("type: event", "on: heartbeat"), work},
		"e-check": {gate("type: condition", "check: \"true\"", "duration: 1s"), work}, "f-log": {gate("type: event", "on: silence"), work},
		"g-beside": {"parallel: true\n" + gate("type: cooldown", "duration: 1s"), strings.ReplaceAll(work, "../all", "../beside")},
	}
	kills := 2
	if long {
		plugins["h-cron"], kills = [2]string{gate("type: cron", "schedule: \"* * * * *\""), work}, 60
	}
	w := newPluginTown(t, plugins)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for range kills {
		_, _ = w.client().Silence(w.Context(), api.SilenceOrder{Subject: "host/x", For: "1s"})
		for end := time.Now().Add(time.Duration(500+r.IntN(2500)) * time.Millisecond); time.Now().Before(end); {
			time.Sleep(time.Millisecond) // deaths come at random moments
		}
		w.kill()
		w.start()
	}
	for name := range plugins {
		w.noted(name, 2)
		if got := w.log(name); strings.Contains(strings.Join(got, " "), "begin begin") {
			t.Errorf("of %s two ran at once: %q", name, got)
		}
	}
	w.quiet()
	for name := range plugins {
		if got := w.log(name); len(got)%2 != 0 {
			t.Errorf("%s was begun and did not end: %q", name, got)
		}
	}
	all, _ := os.ReadFile(filepath.Join(w.dir, "plugins", "all"))
	lines := strings.Split(strings.TrimSpace(string(all)), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		if lines[i] != strings.Replace(lines[i+1], "end", "begin", 1) {
			t.Fatalf("two at once: %q", lines[max(0, i-2):i+2])
		}
	}
	t.Logf("%d kills, %d runs", kills, len(lines)/2)
}

// quiet switches the plugins off, and waits until nothing of them runs.
func (w pluginTown) quiet() {
	w.Helper()
	c := w.client()
	list, err := c.Plugins(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range list.Plugins {
		if _, err := c.SwitchFormula(w.Context(), "plugin:"+p.Name, "disable", api.FormulaSwitchRequest{}); err != nil {
			w.Fatal(err)
		}
	}
	var runs api.Runs
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", runs, w.said) }, func() bool {
		runs, err = c.Runs(w.Context(), false)
		return err == nil && len(runs.Runs) == 0
	})
}
