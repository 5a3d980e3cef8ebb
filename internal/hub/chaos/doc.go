// Package chaos holds one test, and what it needs: a hub of three nodes and some hosts, each a process
// in a network of its own, act on what they share while machines, disks, networks and clocks fail. A
// checker then reads all that the shared resource and the hosts have written down. In the suite it is
// a small one; CUSTOS_CHAOS=30m plays the whole for so long.
package chaos
