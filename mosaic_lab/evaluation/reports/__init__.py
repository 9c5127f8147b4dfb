"""Tables, plots and files of an evaluation's results, made from the records of its episodes."""
