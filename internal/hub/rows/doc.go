// Package rows is what hosts tell of themselves at a hub: rows of a bucket of NATS JetStream, and no
// protocol besides. A host's row has the key HOST.KIND.ID and any bytes as its value; HOST.head is
// its heartbeat, and HOST.cut says which of its rows are not told. The hub lets a host write below
// its own name only.
//
// A Publisher has the bucket be as its host says last; a Board holds what all hosts tell.
//
// The bucket lies in memory and keeps one value of a key. A row that is removed leaves a marker for
// some minutes, so that boards see it go; who has looked away for longer looks at everything anew.
package rows
