// Package mail says what becomes of mail in a pass: what is new is sorted, its readers are
// told of it by a nudge or by the outbox, what nobody will read is returned, and a loop is
// stopped. What mail is, and who may write which, is ledger's.
package mail
