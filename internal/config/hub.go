package config

import (
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
)

// What lies in the state folder of a host that has joined a hub.
const (
	hubFolder = "hub"
	hubFile   = "hub.json"
	credsFile = "hub.creds"
	hostsFile = "hosts.json"
)

// mostJoined is how many bytes of such a file are read.
const mostJoined = 1 << 20

// Socket is where the daemon answers.
func (c Config) Socket() string { return filepath.Join(c.RuntimeDir, "custos.sock") }

// HubDir is the folder in which lies which hub this host has joined, and what it knows of it.
func (c Config) HubDir() string { return filepath.Join(c.StateDir, hubFolder) }

// HubHosts is the file in which the daemon keeps the names of the other hosts of the hub.
func (c Config) HubHosts() string { return filepath.Join(c.HubDir(), hostsFile) }

// LeaseFile is what [hub] says of a file of leases, as it is written; "" for nothing.
func (c Config) LeaseFile() string {
	hub, _ := c.all["hub"].(map[string]any)
	file, _ := hub["file"].(string)
	return file
}

// HubHost is the name that this host has at its hub; "" where it has joined none, or that cannot be read.
func (c Config) HubHost() string {
	var joined struct {
		Host string `json:"host"`
	}
	text, err := ReadFile(filepath.Join(c.HubDir(), hubFile), mostJoined)
	if err != nil || json.Unmarshal(text, &joined) != nil {
		return ""
	}
	return joined.Host
}

// Joined is what lies there, and by which key, as one text; nil where no hub was joined. Nothing of it is a secret. The names of
// the other hosts are none of it: a daemon begins anew for another hub, and not for another host of it.
func Joined(stateDir string) []byte {
	joined, err := ReadFile(filepath.Join(stateDir, hubFolder, hubFile), mostJoined)
	if err != nil {
		return nil
	}
	// By which key is told by a sum: of the key itself nothing is kept.
	creds, _ := ReadFile(filepath.Join(stateDir, hubFolder, credsFile), mostJoined) // that it cannot be read is said by who needs it
	sum := sha256.Sum256(creds)
	return append(append([]byte{0}, joined...), sum[:]...)
}
