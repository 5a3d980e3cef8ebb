// Package server answers questions about the fleet over HTTP: on a unix socket
// when a daemon runs, in process when none does. In go requests; out come the
// view models of package api, each computed by a pure function from values of
// package fleet (one file a view). What it needs of the rest of Custos it
// declares as ports, which the daemon fulfils.
package server
