// Package convoys says what becomes of convoys in a pass: which are done, and which are
// open again, with who is told of it.
package convoys
