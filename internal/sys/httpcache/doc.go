// Package httpcache is the one way to HTTP APIs that are polled: forges and CI
// systems. A Host is what all who speak to one server share: one budget, what the
// server said about limits, and how its clock stands to ours. A Transport is one
// account there: it adds the token, asks conditionally for what it has in store,
// and reads every answer whole, up to a size and a time.
//
// It never follows a request to another server, and puts the token in no URL and
// in no error.
package httpcache
