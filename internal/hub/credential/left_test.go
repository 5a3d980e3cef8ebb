package credential_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/hub/credential"
	"custos/internal/hub/folder"
)

// TestWhatIsLeftOfAJoining: a host that lacks a part of what it joined by has not left its hub, and does not share nothing
// without a word; one without any of it has.
func TestWhatIsLeftOfAJoining(t *testing.T) {
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
	for _, gone := range []string{"hub.json", "hub.creds", "ca.pem"} {
		dir := filepath.Join(t.TempDir(), "hub")
		if err := (credential.Joined{URLs: []string{"tls://127.0.0.1:1"}, CA: made.CA, Account: keys.Account(), Host: "box1", Creds: creds}).Save(dir); err != nil {
			t.Fatal(err)
		}
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
