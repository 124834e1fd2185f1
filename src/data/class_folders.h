/* Which class the images of a folder are of: its name says so, not its place among the others. */
#ifndef NUC_DATA_CLASS_FOLDERS_H
#define NUC_DATA_CLASS_FOLDERS_H

#include "data/dataset.h"

/* What is known of the classes that the labels are for. */
struct nuc_classes {
    size_t n_names; /* 0: a program without names */
    const char *const *names;
    size_t most; /* scores of the largest output; folders named after numbers below it are those classes */
};

/* A data set of files, whose classes, where they have some, are the array 'label'. */
struct nuc_dataset *nuc_dataset_of_files(struct nuc_context *cx, const char *path, const struct nuc_images *files);

/*
 * Makes the array 'label' of a folder with a folder for each class hold the classes of `known`: by name, exactly or but
 * for case and signs, else by numbers ("7", "07", "7_cat") where every folder has another one. Fails with NUC_BAD_INPUT
 * for a folder that is none of the classes. Without names and numbers folders are classes in the order of their names:
 * false. No effect on other data.
 */
bool nuc_label_class_folders(struct nuc_dataset *d, const struct nuc_classes *known);

/* Names of the folders by class: in the order of their numbers where these are 0, 1, ..., else of their names. */
const char *const *nuc_class_folder_names(const struct nuc_dataset *d);

#endif
