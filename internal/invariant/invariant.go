package invariant

// Assert panics with what when held is false, in checking builds only. what is
// a constant that names the invariant by its number and noun; the arguments are
// evaluated in every build, so they are kept to what costs nothing.
func Assert(held bool, what string) {
	if Enabled && !held {
		panic("invariant broken: " + what)
	}
}
