package credential_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/hub/credential"
	"custos/internal/hub/folder"
)

// TestWhatIsLeftOfAJoining: a host that lacks a part of what it joined by has not left its hub, and does not share nothing
// without a word; one without any of it has.
func TestWhatIsLeftOfAJoining(t *testing.T) {
	for _, gone := range []string{"hub.json", "hub.creds", "ca.pem"} {
		dir := joined(t)
		if err := os.Remove(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
		if _, err := credential.Load(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("without %s: %v", gone, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := credential.Load(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without any: %v", err)
		}
	}
}

// joined is a folder of a host that has joined a hub.
func joined(t *testing.T) string {
	t.Helper()
	keys, err := credential.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := credential.NewPair()
	if err != nil {
		t.Fatal(err)
	}
	user, err := keys.HostUser("box1", pair.Public())
	if err != nil {
		t.Fatal(err)
	}
	creds, err := pair.Creds(user)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := folder.Init(filepath.Join(t.TempDir(), "made"), []folder.Node{{Name: "n", Addresses: []string{"127.0.0.1:1"}}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	made, err := folder.Read(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "hub")
	if err := (credential.Joined{URLs: []string{"tls://127.0.0.1:1"}, CA: made.CA, Account: keys.Account(), Host: "box1", Creds: creds}).Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCredentialsThatAreOpen: who can read them can speak as this host, so that they are not used until they are
// this user's alone; it is said how, and not that the host should join anew.
func TestCredentialsThatAreOpen(t *testing.T) {
	dir := joined(t)
	file := filepath.Join(dir, "hub.creds")
	for mode, open := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o620: true, 0o644: true} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		_, err := credential.Load(dir)
		if (err != nil) != open || open && (!strings.Contains(err.Error(), "chmod 600 "+file) || strings.Contains(err.Error(), "join anew")) {
			t.Errorf("of mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root gives a file away")
	}
	if err := os.Chown(file, 4242, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := credential.Load(dir); err == nil || !strings.Contains(err.Error(), file+" belongs to another user") {
		t.Errorf("of another user: %v", err)
	}
}

// TestADamagedHubJSON: the line is said.
func TestADamagedHubJSON(t *testing.T) {
	dir := joined(t)
	file := filepath.Join(dir, "hub.json")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, instead string
		line         int
	}{
		{`"version": 1`, `"version": 2`, 2}, {`"version": 1`, `"version": "1"`, 2}, {`"host": "box1"`, `"host": box1`, 7}, {`"host": "box1"`, `"host": "box 1"`, 7},
		{`"account": `, `"account" `, 6}, {"\n}", "", 7}, {string(whole), "", 1}, {`"tls://127.0.0.1:1"`, "", 3},
	} {
		bad := strings.Replace(string(whole), c.old, c.instead, 1)
		if bad == string(whole) {
			t.Fatalf("there is no %s in\n%s", c.old, whole)
		}
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := credential.Load(dir); err == nil || !strings.Contains(err.Error(), file+":"+strconv.Itoa(c.line)+": ") {
			t.Errorf("%s: want line %d, got %v", c.instead, c.line, err)
		}
	}
}
