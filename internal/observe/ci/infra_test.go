package ci_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	probe "custos/internal/observe/ci"
	"custos/internal/sys/ci"
)

// TestBuiltinRules: what they take for the machinery's, and what not.
func TestBuiltinRules(t *testing.T) {
	rules, err := probe.Rules(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		step  ci.Step
		infra bool
	}{
		"disk":              {ci.Step{Log: "cp: error writing 'x': No space left on device"}, true},
		"oom":               {ci.Step{Exit: 137, Log: "Killed"}, true},
		"agent lost":        {ci.Step{Error: "agent lost"}, true},
		"grpc":              {ci.Step{Error: "rpc error: code = Unavailable desc = transport is closing"}, true},
		"runner lost":       {ci.Step{Log: "The self-hosted runner lost communication with the server."}, true},
		"pull":              {ci.Step{Error: "failed to pull image golang:1.26: toomanyrequests"}, true},
		"pull in a log":     {ci.Step{Log: "Error response from daemon: Get \"https://registry-1.docker.io/v2/\": EOF"}, true},
		"npm":               {ci.Step{Log: "npm ERR! code ETIMEDOUT\nnpm ERR! request to https://registry.npmjs.org/left-pad failed, reason: connect ETIMEDOUT 1.2.3.4:443"}, true},
		"npm waits":         {ci.Step{Exit: 1, Log: "npm error network timeout at: https://npm.example.org/left-pad ETIMEDOUT"}, true},
		"npm, no such host": {ci.Step{Exit: 1, Log: "npm ERR! code EAI_AGAIN\nnpm ERR! errno EAI_AGAIN"}, true},
		"npm, cut off":      {ci.Step{Exit: 1, Log: "npm error code ECONNRESET\nnpm error network aborted"}, true},
		"yarn":              {ci.Step{Exit: 1, Log: "error An unexpected error occurred: \"https://npm.example.org/x: ESOCKETTIMEDOUT\"."}, true},
		"pip":               {ci.Step{Exit: 1, Log: "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='pip.example.org', port=443): Read timed out."}, true},
		"cargo":             {ci.Step{Exit: 101, Log: "warning: spurious network error (1 tries remaining): [28] Timeout was reached\nerror: failed to get `serde` as a dependency\n\nCaused by:\n  download of config.json failed\n\nCaused by:\n  [28] Timeout was reached (Connection timed out)\n"}, true},
		"cargo tried again, and the code is wrong": {ci.Step{Exit: 101, Log: "warning: spurious network error (2 tries remaining): [28] Timeout was reached\nerror[E0425]: cannot find value\n"}, false},
		"pip tried again, and the code is wrong":   {ci.Step{Exit: 1, Log: "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection>: Failed')'\nFAILED test_x"}, false},
		"a test that uses urllib3":                 {ci.Step{Exit: 1, Log: "urllib3.exceptions.ReadTimeoutError: HTTPConnectionPool(host='localhost')"}, false},
		"apt":                                      {ci.Step{Exit: 100, Log: "E: Failed to fetch http://mirror.example.org/x.deb  Connection timed out [IP: 1.2.3.4 80]"}, true},
		"npm's own script":                         {ci.Step{Exit: 1, Log: "npm error code ELIFECYCLE\nnpm error errno 1"}, false},
		"npm, no package":                          {ci.Step{Exit: 1, Log: "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/nope"}, false},
		"a test of time-outs":                      {ci.Step{Exit: 1, Log: "expected ETIMEDOUT, got: connect ETIMEDOUT 10.0.0.1:443"}, false},
		"go proxy":                                 {ci.Step{Log: `Get "https://proxy.golang.org/x": dial tcp: lookup proxy.golang.org: i/o timeout`}, true},
		"clone":                                    {ci.Step{Name: "ci/clone", Exit: 128, Log: "fatal: unable to access 'https://git.example.org/': Could not resolve host: git.example.org"}, true},
		"docker":                                   {ci.Step{Log: "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."}, true},
		"a test":                                   {ci.Step{Exit: 1, Log: "--- FAIL: TestDial: dial tcp 127.0.0.1:1: connection refused"}, false},
		"a test that waits":                        {ci.Step{Exit: 1, Log: "panic: test timed out after 10m0s"}, false},
		"compile":                                  {ci.Step{Exit: 2, Log: "main.go:3: undefined: x"}, false},
		"GitLab's runner":                          {ci.Step{Exit: 1, Error: "runner_system_failure", Log: "ERROR: Job failed (system failure): prepare environment"}, true},
		"GitLab's runner, no log":                  {ci.Step{Exit: -1, Error: "stuck_or_timeout_failure", Unread: "there is no such thing"}, true},
		"GitLab's script":                          {ci.Step{Exit: 1, Error: "script_failure", Log: "FAIL"}, false},
		"GitLab's script, too long":                {ci.Step{Exit: -1, Error: "job_execution_timeout", Log: "ERROR: Job failed: execution took longer than 1h0m0s seconds"}, false},
		"GitLab has no such runner":                {ci.Step{Exit: -1, Error: "stuck_pending_no_matching_runners", Log: "x"}, false},
		"words like GitLab's":                      {ci.Step{Exit: 1, Log: "expected runner_system_failure"}, false},
		"a branch is missing":                      {ci.Step{Name: "ci/clone", Exit: 128, Log: "fatal: couldn't find remote ref refs/heads/gone"}, false},
		"no words":                                 {ci.Step{Exit: 1}, false},
	} {
		got, cause := probe.Judge(rules, []ci.Step{c.step})
		if v, known := got.Get(); !known || v != c.infra || (cause == "") == c.infra {
			t.Errorf("%s: %v, %q", name, got, cause)
		}
	}
}

// One step of the code is enough; a log that was not read leaves it open.
func TestJudge(t *testing.T) {
	rules, err := probe.Rules(nil)
	if err != nil {
		t.Fatal(err)
	}
	oom, test, dark := ci.Step{Name: "a", Exit: 137}, ci.Step{Name: "b", Exit: 1, Log: "FAIL"}, ci.Step{Name: "c", Exit: 1, Unread: "it answered 500"}
	for name, c := range map[string]struct {
		steps        []ci.Step
		known, infra bool
	}{
		"none": {nil, false, false}, "one": {[]ci.Step{oom}, true, true}, "both": {[]ci.Step{oom, test}, true, false},
		"dark": {[]ci.Step{oom, dark}, false, false}, "dark, and the code's": {[]ci.Step{dark, test}, true, false},
	} {
		got, _ := probe.Judge(rules, c.steps)
		if v, known := got.Get(); known != c.known || v != c.infra {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRulesOfOnesOwn(t *testing.T) {
	rules, err := probe.Rules([]probe.Rule{{Name: "flaky mirror", Step: "^ci/deps$", Exit: []int{7}}, {Name: "out of memory"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		step ci.Step
		want bool
	}{{ci.Step{Name: "ci/deps", Exit: 7}, true}, {ci.Step{Name: "ci/deps", Exit: 8}, false}, {ci.Step{Name: "ci/other", Exit: 7}, false}, {ci.Step{Exit: 137}, false}} {
		if got, _ := probe.Judge(rules, []ci.Step{c.step}); got.Or(!c.want) != c.want {
			t.Errorf("%+v: %v", c.step, got)
		}
	}
	for _, bad := range []probe.Rule{{}, {Name: "x"}, {Name: "x", Log: "("}, {Name: "x", Step: "["}, {Name: " ", Exit: []int{1}}} {
		if _, err := probe.Rules([]probe.Rule{bad}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// FuzzJudge: whatever a log holds, its cause is one safe line.
func FuzzJudge(f *testing.F) {
	rules, err := probe.Rules(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"no space left on device", "\x1b[31mno space left on device\xff token=hunter2hunter2", "\n\n", strings.Repeat("ENOSPC", 1000)} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, log string, exit int) {
		_, cause := probe.Judge(rules, []ci.Step{{Name: log, Log: log, Error: log, Exit: exit}})
		if strings.ContainsAny(cause, "\n\x1b") || !utf8.ValidString(cause) || len([]rune(cause)) > 300 || strings.Contains(log, "token=hunter2hunter2") && strings.Contains(cause, "hunter2hunter2") {
			t.Errorf("%q", cause)
		}
	})
}
