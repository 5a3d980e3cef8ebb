package daemon_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// TestATokenIsOfItsRole: a real daemon gives the agent of a role its token, anew at each start, no other
// agent, and leaves it in no file, command line or journal.
func TestATokenIsOfItsRole(t *testing.T) {
	w := foundTown(t, "[limits]\nsettle = \"100ms\"\n[recover]\nsettle = \"1s\"\n[credential.forge]\nenv = \"FORGE_TOKEN\"\nroles = [\"reviewer\"]\ntoken_command = [\"./vault\"]\n")
	vault := func(token string) {
		if err := os.WriteFile(filepath.Join(w.dir, "vault"), []byte("#!/bin/sh\necho "+token[:3]+"\"\"-"+token[4:]+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	toml := filepath.Join(w.dir, "custos.toml")
	text, err := os.ReadFile(toml)
	if err == nil {
		err = os.WriteFile(toml, bytes.Replace(text, []byte("./vault"), []byte(filepath.Join(w.dir, "vault")), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	vault("tok-first")
	w.start()
	spawn := func(name, role string) {
		t.Helper()
		o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: &api.SpawnRequest{Kind: "claude", Role: role, Dir: filepath.Join(w.dir, "work"), Prompt: "fake work 1h"}})
		if o.State != "done" {
			t.Fatalf("%+v\n%s", o, w.said)
		}
	}
	token := func(pid int) string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		for _, kv := range bytes.Split(b, []byte{0}) {
			if value, is := bytes.CutPrefix(kv, []byte("FORGE_TOKEN=")); is {
				return string(value)
			}
		}
		return ""
	}
	spawn("ann", "reviewer")
	spawn("bob", "builder")
	first := w.awaitState("ann", "working").PID
	if is, other := token(first), token(w.awaitState("bob", "working").PID); is != "tok-first" || other != "" {
		t.Errorf("the reviewer has %q, and the builder %q", is, other)
	}
	vault("tok-second")
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, w.said.String, func() bool {
		pid := w.agent("ann").PID
		return pid > 0 && pid != first && token(pid) == "tok-second" && !w.acting()
	})
	for _, token := range []string{"tok-first", "tok-second"} {
		if strings.Contains(w.said.String(), token) {
			t.Errorf("the log holds %s", token)
		}
		_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, _ error) error {
			if d == nil || !d.Type().IsRegular() {
				return nil
			}
			if b, _ := os.ReadFile(path); bytes.Contains(b, []byte(token)) {
				t.Errorf("%s holds %s", path, token)
			}
			return nil
		})
	}
}
