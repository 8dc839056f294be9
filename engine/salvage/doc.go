// Package salvage makes a new file of what can be read of a damaged one and of its log, and says what is lost.
//
// It owns no table. It never writes to the damaged file: it mends a copy until DuckDB opens it, and reads that in a process of its own, which a bad block may
// end. Of index, payload and upkeep it asks what completes the new file, which is opened like any other, through the function that it is given, and gets its
// name when it is whole.
//
// What bites: what lies in damaged blocks is believed last, and counted as doubtful; tables that can be made anew are not copied (remade).
package salvage
