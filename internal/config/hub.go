package config

import "path/filepath"

// What lies in the state folder of a host that has joined a hub.
const (
	hubFolder = "hub"
	hubFile   = "hub.json"
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

// Joined is what lies there, as one text; nil where no hub was joined. Nothing of it is a secret. The names of
// the other hosts are none of it: a daemon begins anew for another hub, and not for another host of it.
func Joined(stateDir string) []byte {
	joined, err := ReadFile(filepath.Join(stateDir, hubFolder, hubFile), mostJoined)
	if err != nil {
		return nil
	}
	return append([]byte{0}, joined...)
}
