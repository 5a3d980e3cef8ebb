//go:build conformance

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"custos/internal/agent"
)

// cli is a real agent CLI, and how a clean home is made for it.
type cli struct {
	kind string
	// bin is its program below the folder of the CLIs.
	bin string
	// settle writes its settings, and returns its environment.
	settle func(t *testing.T, h home) []string
	extra  []string // arguments

	permission int    // dialogs that its tool call stands at
	limitIs    string // what a 429 is seen by: hook, screen; empty: by nothing
	retries    bool   // after a 429, again and again
	startTold  bool   // SessionStart comes at the start, not with the first prompt
}

func clis() []cli {
	return []cli{
		{kind: "claude", bin: "claude/node_modules/.bin/claude", settle: settleClaude, permission: 1, limitIs: "hook", startTold: true},
		{kind: "codex", bin: "codex/node_modules/.bin/codex", settle: settleCodex, permission: 1, limitIs: "screen"},
		{kind: "opencode", bin: "opencode/node_modules/.bin/opencode", settle: settleOpencode, permission: 1, limitIs: "screen", retries: true},
		{kind: "gemini", bin: "gemini/node_modules/.bin/gemini", settle: settleGemini, extra: []string{"-m", "gemini-2.5-flash"}, permission: 1, retries: true, startTold: true},
	}
}

// home is a home folder that nobody lives in, with a project in it.
type home struct {
	dir     string
	project string // a git repository
	run     string // the run folder that hooks report to
	model   *Model
}

func newHome(t *testing.T, model *Model) home {
	t.Helper()
	h := home{dir: workDir(t), model: model}
	h.project, h.run = filepath.Join(h.dir, "project"), filepath.Join(h.dir, "run")
	for _, dir := range []string{h.project, h.run, filepath.Join(h.dir, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.write(t, "project/README.md", "A project to try things in.\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		cmd.Dir, cmd.Env = h.project, h.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return h
}

// write puts a file below the home.
func (h home) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// env is what every program is given: nothing of ours but PATH.
func (h home) env() []string {
	return []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh",
		"USER=nobody", "TMPDIR=" + filepath.Join(h.dir, "tmp")}
}

func settleClaude(t *testing.T, h home) []string {
	h.write(t, ".claude.json", string(encode(object{
		"hasCompletedOnboarding": true, "theme": "dark",
		"customApiKeyResponses": object{"approved": []string{dummyKey}, "rejected": []string{}},
		"projects":              object{h.project: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})))
	return []string{"ANTHROPIC_BASE_URL=" + h.model.URL, "ANTHROPIC_API_KEY=" + dummyKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=2"}
}

func settleCodex(t *testing.T, h home) []string {
	h.write(t, ".codex/config.toml", `model = "mock-model"
model_provider = "mock"
check_for_update_on_startup = false
approval_policy = "on-request"
sandbox_mode = "workspace-write"
[model_providers.mock]
name = "mock"
base_url = "`+h.model.URL+`/v1"
env_key = "MOCK_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[projects."`+h.project+`"]
trust_level = "trusted"
`)
	return []string{"MOCK_API_KEY=" + dummyKey}
}

// settleOpencode has the package of plugins there already: offline it would wait
// for npm, on a blank screen.
func settleOpencode(t *testing.T, h home) []string {
	config := h.write(t, "opencode.json", string(encode(object{
		"model": "mock/mock-model", "small_model": "mock/mock-model", "autoupdate": false, "share": "disabled",
		"permission": object{"bash": "ask"},
		"provider": object{"mock": object{"npm": "@ai-sdk/openai-compatible", "name": "Mock",
			"options": object{"baseURL": h.model.URL + "/v1", "apiKey": dummyKey},
			"models":  object{"mock-model": object{"name": "Mock Model"}}}},
	})))
	for _, name := range []string{"package.json", "package-lock.json", "node_modules"} {
		h.link(t, installed("plugin", name), ".config/opencode/"+name)
	}
	return []string{"OPENCODE_CONFIG=" + config, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
}

func (h home) link(t *testing.T, old, name string) {
	t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(old, file); err != nil {
		t.Fatal(err)
	}
}

func settleGemini(t *testing.T, h home) []string {
	h.write(t, ".gemini/settings.json", string(encode(object{
		"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
		"general":   object{"disableAutoUpdate": true, "enableAutoUpdate": false, "disableUpdateNag": true},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})))
	return []string{"GEMINI_API_KEY=" + dummyKey, "GOOGLE_GEMINI_BASE_URL=" + h.model.URL}
}

// parse reads the kinds, with the changes that somebody tries out (--kinds).
func parse(t *testing.T) *agent.Kinds {
	t.Helper()
	var overlays []agent.Source
	if file := os.Getenv(kindsVar); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		overlays = append(overlays, agent.Source{Name: file, Text: text})
	}
	kinds, err := agent.Parse(overlays...)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// eachCLI runs a test for every CLI that is wanted.
func eachCLI(t *testing.T, test func(t *testing.T, c cli, k agent.Kind)) {
	kinds := parse(t)
	ran := 0
	for _, c := range clis() {
		t.Run(c.kind, func(t *testing.T) {
			if !wanted(c.kind) {
				t.Skipf("%s was not asked for, or is not installed", c.kind)
			}
			k, ok := kinds.Get(c.kind)
			if !ok {
				t.Fatalf("Custos knows no kind %s", c.kind)
			}
			ran++
			test(t, c, k)
		})
	}
	if ran == 0 {
		t.Error("no agent CLI was run")
	}
}
